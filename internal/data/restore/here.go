package restore

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/store"
)

// standing is how what is there stands with the bucket's.
type standing int8

const (
	absent standing = iota
	same
	different
)

// here compares what has the checkpoint's name with the bucket's, byte for byte.
func (r *running) here(ctx context.Context) (standing, error) {
	info, err := r.root.Lstat(r.at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return absent, nil
	case err != nil:
		return absent, err
	case info.IsDir() == r.Found.from.single:
		return different, nil
	case info.IsDir():
		entries, err := fs.ReadDir(r.root.FS(), r.at)
		if err != nil || len(entries) == 0 {
			return absent, err
		}
		if more, err := r.more(); more || err != nil {
			return different, err
		}
	}
	r.Progress.Begin("compare")
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(filesAtOnce)
	for _, f := range r.files {
		group.Go(func() error {
			at := path.Join(r.at, f.Path)
			if r.Found.from.single {
				at = r.at
			}
			return r.equal(ctx, at, f)
		})
	}
	switch err := group.Wait(); {
	case errors.Is(err, ErrDiffers):
		return different, nil
	case err != nil:
		return absent, err
	}
	return same, nil
}

// more says that there are parts of a checkpoint that the bucket's has not.
func (r *running) more() (bool, error) {
	has := map[string]bool{}
	for _, f := range r.files {
		has[path.Join(r.at, f.Path)] = true
	}
	found := false
	err := fs.WalkDir(r.root.FS(), r.at, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !has[p] && checkpoint.Part(p) {
			found = true
			return fs.SkipAll
		}
		return err
	})
	return found, err
}

// equal returns ErrDiffers for a file that is not that of an object. One without a checksum cannot be compared.
func (r *running) equal(ctx context.Context, at string, f File) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	info, err := r.root.Lstat(at)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return ErrDiffers
	}
	if err != nil {
		return err
	}
	if likeOf(f.Object).link {
		return r.sameLink(ctx, at, f)
	}
	if !info.Mode().IsRegular() || info.Size() != f.Object.SizeBytes {
		return ErrDiffers
	}
	in, err := r.root.Open(at)
	if err != nil {
		return err
	}
	defer in.Close()
	sums, err := store.Sum(in, f.Object.SizeBytes)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return ErrDiffers
	case err != nil:
		return err
	case f.Object.CRC64NVME != "" && sums.CRC64NVME == f.Object.CRC64NVME || f.Object.SHA256 != "" && sums.SHA256 == f.Object.SHA256:
		r.Progress.Move(f.Object.SizeBytes)
		return nil
	}
	return ErrDiffers
}

func (r *running) sameLink(ctx context.Context, at string, f File) error {
	target, err := r.root.Readlink(at)
	if err != nil {
		return ErrDiffers
	}
	text, _, err := r.View.read(ctx, f.Object.Key, mostPointer)
	if err == nil && string(text) != target {
		err = ErrDiffers
	}
	return err
}
