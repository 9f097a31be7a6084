package restore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/sys/pattern"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

const (
	asksAtOnce  = 32
	filesAtOnce = 16
	partsAtOnce = 16
)

// Bring brings a checkpoint to a directory, where it has the path that it has below the prefix.
type Bring struct {
	View     *View
	Found    *Found
	Dir      string
	Replace  bool           // what is there and differs goes
	Progress *data.Progress // may be nil
}

// Brought is what a run did.
type Brought struct {
	Path                 string // of the checkpoint
	Here                 bool   // it was there already, byte for byte
	Files, Bytes         int64  // that were fetched and proven
	KeptFiles, KeptBytes int64  // that an earlier run had proven
	Unproven             int64  // of the files have no stored checksum: their size alone is right
	Pointers             []Pointer
}

// ErrDiffers says that another checkpoint has the name.
var ErrDiffers = errors.New("it differs from what is in the bucket")

// Path is where the checkpoint comes to.
func (b *Bring) Path() string { return filepath.Join(b.Dir, filepath.FromSlash(b.Found.Dir)) }

// Run brings the files to a temporary directory beside, gives it its name when all are there, and then writes the pointers.
func (b *Bring) Run(ctx context.Context) (Brought, error) {
	r, err := b.begin()
	if err != nil {
		return Brought{}, fmt.Errorf("restore to %s: %w", b.Dir, err)
	}
	defer r.close()
	if err := r.ask(ctx); err != nil {
		return r.done, err
	}
	if err := r.checkpoint(ctx); err != nil {
		return r.done, err
	}
	if r.done.Pointers, err = r.pointers(ctx); err != nil {
		err = r.failed("write the pointer to", err)
	}
	return r.done, err
}

// failed says what was done to the checkpoint. Its name is the bucket's, which can have anything in it.
func (r *running) failed(deed string, err error) error {
	return fmt.Errorf("%s %s: %w", deed, page.Printable(r.done.Path), whole.Cause(err))
}

// changed is the error of an object that is another one by now.
func changed(f File) error {
	return fmt.Errorf("%s: %w: run the same again", page.Printable(f.Object.Key), store.ErrChanged)
}

// running is a restore under way.
type running struct {
	*Bring
	root  *os.Root // of the directory
	locks []*os.File
	at    string // where the checkpoint comes to, below the directory
	files []File // with all that the place knows of their objects
	parts chan struct{}

	mu   sync.Mutex // guards done
	done Brought
}

// begin opens the directory, and keeps others from restoring to it. The prefix itself may be the checkpoint: then it comes
// to the directory itself, in the one above.
func (b *Bring) begin() (*running, error) {
	dir, at, err := b.where()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	r, err := b.in(dir, at)
	if err != nil {
		return nil, err
	}
	if err := r.claim(dir); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// claim takes the directory, and the one in it where the checkpoint comes to: who restores to that one, or to another one around
// it, tidies up there, too.
func (r *running) claim(dir string) error {
	near := path.Dir(r.at)
	if r.root.MkdirAll(near, 0o777) != nil {
		near = "." // who brings the files there says what is wrong
	}
	for _, d := range slices.Compact([]string{dir, filepath.Join(dir, near)}) {
		lock, err := data.Claim(d)
		if err != nil {
			return err
		}
		r.locks = append(r.locks, lock)
	}
	return nil
}

// where is the directory to open, and where in it the checkpoint comes to.
func (b *Bring) where() (dir, at string, err error) {
	if b.Found.Dir != "." {
		return b.Dir, b.Found.Dir, nil
	}
	full, err := filepath.Abs(b.Dir)
	if err != nil {
		return "", "", err
	}
	if dir, at = filepath.Dir(full), filepath.Base(full); dir == full {
		return "", "", errors.New("a checkpoint cannot be the root directory")
	}
	return dir, at, nil
}

func (b *Bring) in(dir, at string) (*running, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &running{Bring: b, root: root, at: at, parts: make(chan struct{}, partsAtOnce), done: Brought{Path: b.Path()}}, nil
}

func (r *running) close() {
	for _, l := range r.locks {
		l.Close()
	}
	r.root.Close()
}

// ask asks about each object: its checksum, and what its file was like.
func (r *running) ask(ctx context.Context) error {
	r.Progress.Begin("ask")
	r.Progress.Expect(int64(len(r.Found.Files)), 0)
	r.Progress.Counted()
	r.files = make([]File, len(r.Found.Files))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(asksAtOnce)
	for i, f := range r.Found.Files {
		group.Go(func() error {
			o, err := r.View.bucket.Head(ctx, f.Object.Key)
			if err == nil && o.Version != f.Object.Version && f.Object.Version != "" {
				err = changed(f)
			}
			r.files[i] = File{f.Path, o}
			r.Progress.Done(1)
			return err
		})
	}
	return group.Wait()
}

// checkpoint brings the files, unless they are there.
func (r *running) checkpoint(ctx context.Context) error {
	here, err := r.here(ctx)
	switch {
	case err != nil:
		return r.failed("look at", err)
	case here == Equal:
		r.done.Here = true
		return nil
	case here == Different && !r.Replace:
		return fmt.Errorf("%s: %w; --replace puts the one of the bucket in its place", page.Printable(r.done.Path), ErrDiffers)
	}
	beside := r.beside()
	if err := r.fetch(ctx, beside); err != nil {
		return err
	}
	return r.place(beside, here == Different)
}

// beside is where the files come to first. Of another content it has another name, so that what is there is of this one.
func (r *running) beside() string {
	sum := sha256.New()
	for _, f := range r.files {
		fmt.Fprintf(sum, "%q %d %q %q %q\n", f.Path, f.Object.SizeBytes, f.Object.Version, f.Object.CRC64NVME, f.Object.SHA256)
	}
	return path.Join(path.Dir(r.at), besideBegin+hex.EncodeToString(sum.Sum(nil)[:8])+besideEnd)
}

const (
	besideBegin = ".muster-restore-"
	besideEnd   = ".tmp"
)

// leftover is what an earlier restore of another content left, or what one replaced.
var leftover = pattern.New(`^\.muster-(?:restore|replaced)-[0-9a-f]{16}\.tmp$`)

// fetch brings all files.
func (r *running) fetch(ctx context.Context, beside string) error {
	if err := r.root.MkdirAll(beside, 0o777); err != nil {
		return fmt.Errorf("restore to %s: %w", r.Dir, err)
	}
	to, err := r.root.OpenRoot(beside)
	if err != nil {
		return fmt.Errorf("restore to %s: %w", r.Dir, err)
	}
	defer to.Close()
	r.Progress.Begin("fetch")
	r.Progress.Expect(int64(len(r.files)), r.Found.Bytes)
	r.Progress.Counted()
	group, going := errgroup.WithContext(ctx)
	group.SetLimit(filesAtOnce)
	for _, f := range r.files {
		if going.Err() != nil {
			break
		}
		group.Go(func() error {
			if err := r.one(going, to, f); err != nil {
				return fmt.Errorf("restore %s: %w", page.Printable(path.Join(r.Found.Dir, f.Path)), whole.Cause(err))
			}
			return nil
		})
	}
	err = group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// place gives a checkpoint its name. One that is replaced is moved away first, and deleted when the new one is there.
func (r *running) place(beside string, replaced bool) error {
	from := beside
	if r.Found.from.single {
		from = path.Join(beside, r.files[0].Path)
	} else if err := r.syncAll(beside); err != nil {
		return fmt.Errorf("restore to %s: %w", r.Dir, err)
	}
	old := path.Join(path.Dir(r.at), ".muster-replaced-"+beside[len(beside)-len(besideEnd)-16:])
	if replaced {
		if err := errors.Join(r.root.RemoveAll(old), r.root.Rename(r.at, old)); err != nil {
			return r.failed("move away", err)
		}
	} else if !r.Found.from.single {
		if err := r.root.Remove(r.at); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty directory
			return r.failed("restore to", err)
		}
	}
	if err := errors.Join(r.root.Rename(from, r.at), r.sync(path.Dir(r.at))); err != nil {
		return r.failed("give its name to", err)
	}
	return r.sweep()
}

// sweep removes what restores left beside: the lock says that none of them runs.
func (r *running) sweep() error {
	dir := path.Dir(r.at)
	entries, err := fs.ReadDir(r.root.FS(), dir)
	if err != nil {
		return fmt.Errorf("tidy up in %s: %w", r.Dir, err)
	}
	for _, e := range entries {
		if leftover().MatchString(e.Name()) {
			err = errors.Join(err, r.root.RemoveAll(path.Join(dir, e.Name())))
		}
	}
	return err
}

// syncAll writes the names of all files to the disk.
func (r *running) syncAll(dir string) error {
	return fs.WalkDir(r.root.FS(), dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return r.sync(p)
	})
}

func (r *running) sync(dir string) error {
	f, err := r.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
