package layer

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/image/squashfs"
)

// File is an entry that is added to an image.
type File struct {
	Name     string // below the root, such as "etc/rc"
	Mode     fs.FileMode
	UID, GID int
	ModTime  time.Time
	Data     []byte // of a regular file
	Link     string // target of a symlink
}

// Owners says to whom an image's files belong.
type Owners int

// KeepOwners leaves files to whom the layers give them; RootOwners gives all
// to user and group 0.
const (
	KeepOwners Owners = iota
	RootOwners
)

// Options say how an image is assembled.
type Options struct {
	Owners Owners
	// Time is when the image says it was made; directories that no layer
	// describes have it too. The same layers and options give the same bytes.
	Time time.Time
}

// Result tells about an assembled image.
type Result struct {
	// BytesUsed is where the squashfs ends in its file.
	BytesUsed int64
	// Uncompressed is the sum of the sizes of all files.
	Uncompressed int64
	// Entries counts names, Inodes what they name.
	Entries, Inodes int
	// Duplicates counts files whose content is stored with another's.
	Duplicates int
	// OnlyRoot says that everything belongs to user and group 0.
	OnlyRoot bool
	// Written knows what was written, for Sums.
	Written *Written
}

// maxIndexes is the most memory that the indexes of an image's layers may take.
const maxIndexes = 256 << 20

// Assemble writes the image of layers, lowest first, and of extra on top of
// them into out, from its beginning. Nothing of it is synced: the caller adds
// what belongs behind the image, syncs and renames. The error wraps ErrMissing
// if a layer is not in the cache, or was damaged there; Build brings it there.
func Assemble(ctx context.Context, c *Cache, digests []string, extra []File, o Options, out *os.File) (Result, error) {
	var layers []*segment
	defer func() {
		for _, s := range layers {
			s.file.Close()
		}
	}()
	var total int64
	for _, digest := range digests {
		s, err := c.openSegment(digest)
		if err != nil {
			return Result{}, &Error{Digest: digest, Err: err}
		}
		layers = append(layers, s)
		if total += int64(len(s.entries)); total > maxIndexes {
			return Result{}, fmt.Errorf("the image's names and attributes: %w: more than %d bytes", ErrLimit, maxIndexes)
		}
	}
	if len(extra) > 0 {
		s, err := c.extra(ctx, extra)
		if err != nil {
			return Result{}, fmt.Errorf("added files: %w", err)
		}
		layers = append(layers, s)
	}
	return c.assemble(ctx, layers, o, out)
}

func (c *Cache) assemble(ctx context.Context, layers []*segment, o Options, out *os.File) (Result, error) {
	tree, err := merge(layers)
	if err != nil {
		return Result{}, err
	}
	contents := collect(tree)
	plan, known := arrange(contents), &Written{}
	// Files are written by one CPU at a time, so another one can do what follows.
	var copied error
	var copying sync.WaitGroup
	copying.Go(func() { copied = c.copyRanges(ctx, layers, plan.ranges, out, known) })
	result, err := c.describe(ctx, tree, contents, plan, o, out)
	copying.Wait()
	if copied != nil {
		return Result{}, copied // the root cause: what is damaged was only then compared
	}
	result.Written = known
	return result, err
}

// describe writes what comes behind the copied ranges.
func (c *Cache) describe(ctx context.Context, t *tree, contents *contents, plan *arrangement, o Options, out *os.File) (Result, error) {
	fragments, end, err := repack(ctx, c.workers, contents, plan, out)
	if err != nil {
		return Result{}, fmt.Errorf("pack small files: %w", err)
	}
	w := squashfs.NewWriter(out, squashfs.Options{DataEnd: end, Fragments: fragments, ModTime: o.Time})
	return describe(t, contents, o, w)
}

// extra makes a segment of added files, in a file without a name.
func (c *Cache) extra(ctx context.Context, files []File) (s *segment, err error) {
	data, err := tarOf(files)
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(c.dir, "extra-*"+partSuffix)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	if err := os.Remove(f.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	opener := func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	if err := c.read(ctx, opener, f, Descriptor{}, BuildOptions{}); err != nil {
		return nil, err
	}
	return readSegment(f, "of added files")
}

func tarOf(files []File) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h, err := tar.FileInfoHeader(info{f}, f.Link)
		if err != nil {
			return nil, err
		}
		h.Name, h.Uid, h.Gid, h.ModTime = f.Name, f.UID, f.GID, f.ModTime.Truncate(time.Second)
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		if _, err := w.Write(f.Data); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return b.Bytes(), w.Close()
}

// info shows a File as what archive/tar describes.
type info struct{ f File }

func (i info) Name() string       { return i.f.Name }
func (i info) Size() int64        { return int64(len(i.f.Data)) }
func (i info) Mode() fs.FileMode  { return i.f.Mode }
func (i info) ModTime() time.Time { return i.f.ModTime }
func (i info) IsDir() bool        { return i.f.Mode.IsDir() }
func (i info) Sys() any           { return nil }
