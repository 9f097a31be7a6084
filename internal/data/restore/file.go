package restore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/store"
)

// largeBytes is the size from which on a file comes in parts, several at once.
const largeBytes = 64 << 20

// like is what a file was like when it was exported, in the words of FSx for Lustre.
type like struct {
	link     bool
	mode     fs.FileMode
	at       time.Time // zero if nobody knows
	uid, gid int       // -1 if nobody knows
}

func likeOf(o store.Object) like {
	l := like{mode: 0o644, uid: number(o.Meta["file-owner"]), gid: number(o.Meta["file-group"])}
	if n, err := strconv.ParseUint(o.Meta["file-permissions"], 8, 32); err == nil {
		l.link = n&syscall.S_IFMT == syscall.S_IFLNK
		l.mode = fs.FileMode(n & 0o777)
	}
	if ns, err := strconv.ParseInt(strings.TrimSuffix(o.Meta["file-mtime"], "ns"), 10, 64); err == nil {
		l.at = time.Unix(0, ns)
	}
	return l
}

func number(text string) int {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return -1
	}
	return int(n)
}

// one brings one file below the temporary directory. It has its name there when it is proven.
func (r *running) one(ctx context.Context, to *os.Root, f File) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := to.MkdirAll(path.Dir(f.Path), 0o777); err != nil {
		return err
	}
	l := likeOf(f.Object)
	info, err := to.Lstat(f.Path)
	switch {
	case err == nil && (info.Mode().IsRegular() && info.Size() == f.Object.SizeBytes || l.link && info.Mode().Type() == fs.ModeSymlink):
		r.count(&r.done.KeptFiles, &r.done.KeptBytes, f)
		r.Progress.Move(f.Object.SizeBytes)
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if l.link {
		err = r.link(ctx, to, f)
	} else {
		err = r.file(ctx, to, f, l)
	}
	if err != nil {
		return err
	}
	r.count(&r.done.Files, &r.done.Bytes, f)
	return nil
}

func (r *running) count(files, bytes *int64, f File) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*files++
	*bytes += f.Object.SizeBytes
	if !f.Object.HasSum() {
		r.done.Unproven++
	}
	r.Progress.Done(1)
}

// link makes a symbolic link that stays in the checkpoint.
func (r *running) link(ctx context.Context, to *os.Root, f File) error {
	text, _, err := r.View.read(ctx, f.Object.Key, mostPointer)
	if err != nil {
		return err
	}
	target := string(text)
	if f.Object.SizeBytes > mostPointer || path.IsAbs(target) || !fs.ValidPath(path.Join(path.Dir(f.Path), target)) {
		return fmt.Errorf("the link leads to %q, outside of the checkpoint", target)
	}
	return to.Symlink(target, f.Path)
}

// file fetches a file, proves it and gives it its name.
func (r *running) file(ctx context.Context, to *os.Root, f File, l like) error {
	dir, err := to.OpenRoot(path.Dir(f.Path))
	if err != nil {
		return err
	}
	defer dir.Close()
	name := path.Base(f.Path)
	tmp := manifest.Beside(name)
	w, err := data.OpenBeside(dir, tmp)
	if err != nil {
		return err
	}
	if f.Object.SizeBytes >= largeBytes && f.Object.CRC64NVME != "" {
		err = r.inParts(ctx, dir, w, f)
	} else {
		err = r.whole(ctx, w, f)
	}
	if l.uid >= 0 && l.gid >= 0 {
		_ = w.Chown(l.uid, l.gid) // only root may, and not with all numbers
	}
	if err = errors.Join(err, w.Chmod(l.mode|0o400), w.Sync(), w.Close()); err != nil {
		return err
	}
	if !l.at.IsZero() {
		if err := dir.Chtimes(tmp, l.at, l.at); err != nil {
			return err
		}
	}
	return dir.Rename(tmp, name)
}

// tries is how often a file is fetched whose bytes come damaged.
const tries = 3

// whole fetches a file in one piece; the store proves it.
func (r *running) whole(ctx context.Context, w *os.File, f File) error {
	for n := 1; ; n++ {
		moved, err := r.stream(ctx, w, f)
		if !errors.Is(err, store.ErrChecksum) || n == tries {
			return err
		}
		r.Progress.Move(-moved)
		r.Progress.Note("%s came damaged, and is fetched again", f.Path)
	}
}

func (r *running) stream(ctx context.Context, w *os.File, f File) (int64, error) {
	if err := w.Truncate(0); err != nil {
		return 0, err
	}
	body, o, err := r.View.bucket.Get(ctx, f.Object.Key)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	if o.Version != f.Object.Version {
		return 0, fmt.Errorf("%w: run the same again", store.ErrChanged)
	}
	n, err := io.Copy(io.NewOffsetWriter(w, 0), told{body, r})
	if err == nil && n != f.Object.SizeBytes {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// told is a body whose bytes are counted.
type told struct {
	io.Reader
	r *running
}

func (t told) Read(p []byte) (int, error) {
	n, err := t.Reader.Read(p)
	t.r.Progress.Move(int64(n))
	return n, err
}
