package restore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/store"
)

// Standing is how what is there stands with the bucket's.
type Standing int8

// What Bring finds.
const (
	Absent Standing = iota
	Equal
	Different
)

// Look says how what is there stands with the bucket's, and changes nothing.
func (b *Bring) Look(ctx context.Context) (Standing, error) {
	dir, at, err := b.where()
	if err != nil {
		return Absent, err
	}
	r, err := b.in(dir, at)
	if errors.Is(err, fs.ErrNotExist) {
		return Absent, nil
	}
	if err != nil {
		return Absent, fmt.Errorf("look at %s: %w", b.Dir, err)
	}
	defer r.root.Close()
	if err := r.ask(ctx); err != nil {
		return Absent, err
	}
	here, err := r.here(ctx)
	if err != nil {
		return Absent, r.failed("look at", err)
	}
	return here, nil
}

// here compares what has the checkpoint's name with the bucket's, byte for byte.
func (r *running) here(ctx context.Context) (Standing, error) {
	info, err := r.root.Lstat(r.at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Absent, nil
	case err != nil:
		return Absent, err
	case info.IsDir() == r.Found.from.single:
		return Different, nil
	case info.IsDir():
		entries, err := fs.ReadDir(r.root.FS(), r.at)
		if err != nil || len(entries) == 0 {
			return Absent, err
		}
		if more, err := r.more(); more || err != nil {
			return Different, err
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
		return Different, nil
	case err != nil:
		return Absent, err
	}
	return Equal, nil
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

// equal returns ErrDiffers for a file that is not that of an object. One without a checksum is read for that.
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
	if !f.Object.HasSum() {
		return r.equalBytes(ctx, in, f)
	}
	body := f.Object.Verify(io.NopCloser(told{in, r}))
	if _, err = io.Copy(io.Discard, body); errors.Is(err, store.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrDiffers
	}
	return err
}

// equalBytes compares a file with what an object holds.
func (r *running) equalBytes(ctx context.Context, in io.Reader, f File) error {
	body, o, err := r.View.bucket.Get(ctx, f.Object.Key)
	if err != nil {
		return err
	}
	defer body.Close()
	if o.Version != f.Object.Version {
		return changed(f)
	}
	mine, theirs := make([]byte, 1<<20), make([]byte, 1<<20)
	for left := f.Object.SizeBytes; left > 0; {
		n := min(left, int64(len(mine)))
		if _, err := io.ReadFull(body, theirs[:n]); err != nil {
			return err
		}
		switch _, err := io.ReadFull(in, mine[:n]); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return ErrDiffers
		case err != nil:
			return err
		case !bytes.Equal(mine[:n], theirs[:n]):
			return ErrDiffers
		}
		r.Progress.Move(n)
		left -= n
	}
	return nil
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
