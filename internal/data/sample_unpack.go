package data

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// What may come out of an archive: archives come from outside, and some are made to fill disks.
const (
	mostEntries = 1_000_000
	mostTimes   = 200     // of the archive's own size
	leastBytes  = 1 << 30 // may come out of any archive
)

// archives are the endings of what is unpacked.
var archives = []string{".tar.gz", ".tar.zst", ".tar", ".tgz", ".zip"}

// unpackAll unpacks the archives of a sample, each where it lies, as `tar -xf` does. Those that would put a file where
// another one of the sample is go each into a directory of its name.
func unpackAll(ctx context.Context, root *os.Root, records []manifest.Record, found *Sampled) error {
	var packed []manifest.Record
	for _, r := range records {
		if ending(r.Path) != "" {
			packed = append(packed, r)
		}
	}
	apart := map[string]bool{}
	if len(packed) > 1 {
		apart = meeting(ctx, root, packed)
	}
	for _, r := range packed {
		dir := path.Dir(r.Path)
		if apart[r.Path] {
			dir = strings.TrimSuffix(r.Path, ending(r.Path))
		}
		err := unpack(ctx, root, r, dir, found)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if whole.NoRoom(err) != nil {
			return err
		}
		if err != nil {
			found.Problems.add(r.Path, fmt.Errorf("it cannot be unpacked: %w", whole.Cause(err)))
		}
	}
	return nil
}

// meeting are the archives whose files would meet. One that cannot be read says so when it is unpacked.
func meeting(ctx context.Context, root *os.Root, packed []manifest.Record) map[string]bool {
	owners, apart := map[string]string{}, map[string]bool{}
	for _, r := range packed {
		u := &unpacking{ctx: ctx, left: most(r), named: func(name string) {
			at := path.Join(path.Dir(r.Path), name)
			if owner, there := owners[at]; there && owner != r.Path {
				apart[owner], apart[r.Path] = true, true
			}
			owners[at] = r.Path
		}}
		_ = u.archive(root, r)
	}
	return apart
}

// most is how many bytes may come out of an archive.
func most(r manifest.Record) int64 { return max(leastBytes, mostTimes*r.SizeBytes) }

func ending(file string) string {
	for _, e := range archives {
		if strings.HasSuffix(file, e) && path.Base(file) != e {
			return e
		}
	}
	return ""
}

// unpack puts the files of an archive into a directory.
func unpack(ctx context.Context, root *os.Root, r manifest.Record, dir string, found *Sampled) error {
	if err := root.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	to, err := root.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer to.Close()
	return (&unpacking{ctx: ctx, to: to, left: most(r), found: found}).archive(root, r)
}

// archive goes through all of an archive.
func (u *unpacking) archive(root *os.Root, r manifest.Record) error {
	f, err := root.Open(r.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	switch ending(r.Path) {
	case ".zip":
		return u.zip(f, r.SizeBytes)
	case ".tar":
		return u.tar(f)
	case ".tar.zst":
		in, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			return err
		}
		defer in.Close()
		return u.tar(in)
	}
	in, err := gzip.NewReader(bufio.NewReaderSize(f, pieceBytes))
	if err != nil {
		return err
	}
	return u.tar(in)
}

// unpacking is an archive that is being unpacked. All goes through os.Root: nothing leads out of the directory.
type unpacking struct {
	ctx     context.Context
	to      *os.Root
	left    int64 // bytes that may still come out
	entries int
	found   *Sampled
	made    map[string]bool   // files, by their names
	named   func(file string) // told of each file, instead of unpacking it; nil to unpack
}

func (u *unpacking) tar(from io.Reader) error {
	in := tar.NewReader(from)
	for {
		h, err := in.Next()
		if err == io.EOF {
			n, err := io.Copy(io.Discard, io.LimitReader(from, u.left+1)) // whose checksum comes at its end
			return errors.Join(err, u.take(n))
		}
		if err != nil {
			return err
		}
		mode := h.FileInfo().Mode()
		if h.Typeflag == tar.TypeLink { // which looks like an empty file
			mode |= fs.ModeIrregular
		}
		if err := u.entry(h.Name, mode, in); err != nil {
			return fmt.Errorf("%q in it: %w", h.Name, err)
		}
	}
}

func (u *unpacking) zip(from io.ReaderAt, size int64) error {
	in, err := zip.NewReader(from, size)
	if err != nil {
		return err
	}
	for _, e := range in.File {
		body, err := e.Open()
		if err == nil {
			err = errors.Join(u.entry(e.Name, e.Mode(), body), body.Close())
		}
		if err != nil {
			return fmt.Errorf("%q in it: %w", e.Name, err)
		}
	}
	return nil
}

// entry puts one thing of an archive in its place. Links are left out: no validator needs what they lead to.
func (u *unpacking) entry(name string, mode fs.FileMode, body io.Reader) error {
	if u.entries++; u.entries > mostEntries {
		return fmt.Errorf("it has more than %d entries", mostEntries)
	}
	if err := u.ctx.Err(); err != nil {
		return err
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/")
	switch {
	case mode.IsDir() && (name == "" || name == "."):
		return nil
	case !fs.ValidPath(name) || strings.IndexByte(name, 0) >= 0:
		return errors.New("the path leads elsewhere")
	case u.named != nil && mode.IsRegular():
		u.named(name)
		n, err := io.Copy(io.Discard, io.LimitReader(body, u.left+1))
		return errors.Join(err, u.take(n))
	case u.named != nil:
		return nil
	case mode.IsDir():
		return u.to.MkdirAll(name, 0o777)
	case !mode.IsRegular():
		u.found.LeftOut++
		return nil
	}
	if err := u.to.MkdirAll(path.Dir(name), 0o777); err != nil {
		return err
	}
	return u.file(name, mode, body)
}

func (u *unpacking) file(name string, mode fs.FileMode, body io.Reader) error {
	if u.made[name] { // of two of one name the later counts, as for `tar -xf`
		if err := u.to.Remove(name); err != nil {
			return err
		}
		u.found.Unpacked--
	}
	f, err := u.to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode.Perm()&0o755|0o600)
	if err != nil {
		return err
	}
	if u.made == nil {
		u.made = map[string]bool{}
	}
	u.made[name] = true
	n, err := io.Copy(f, io.LimitReader(body, u.left+1))
	if err == nil {
		err = u.take(n)
	}
	u.found.Unpacked++
	return errors.Join(err, f.Close())
}

func (u *unpacking) take(bytes int64) error {
	if u.left -= bytes; u.left < 0 {
		return fmt.Errorf("far more comes out of it than there should: over %d times its size", mostTimes)
	}
	return nil
}
