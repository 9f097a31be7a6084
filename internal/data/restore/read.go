package restore

import (
	"context"
	"errors"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/store"
)

// reader reads parts of a checkpoint's files, several at once. An object that went, or was replaced or archived, says nothing:
// whoever brings it finds that.
func (v *View) reader(ctx context.Context, f *Found) checkpoint.Reader {
	objects := make(map[string]store.Object, len(f.Files))
	for _, x := range f.Files {
		objects[x.Path] = x.Object
	}
	return func(spans []checkpoint.Span) ([][]byte, error) {
		texts := make([][]byte, len(spans))
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(filesAtOnce)
		for i, s := range spans {
			group.Go(func() (err error) {
				texts[i], err = v.span(ctx, objects[s.Path], s)
				for _, none := range []error{store.ErrNotFound, store.ErrChanged, store.ErrArchived} {
					if errors.Is(err, none) {
						texts[i], err = nil, nil
					}
				}
				return err
			})
		}
		return texts, group.Wait()
	}
}

// span reads a part of an object. One that is wanted as a whole is proven by its checksum. A symbolic link, of which the bucket has
// the path, says nothing: it is short, and read as a whole.
func (v *View) span(ctx context.Context, o store.Object, s checkpoint.Span) ([]byte, error) {
	if s.Bytes == o.SizeBytes {
		text, o, err := v.read(ctx, o.Key, s.Bytes)
		if likeOf(o).link {
			return nil, err
		}
		return text, err
	}
	body, err := v.bucket.Range(ctx, o.Key, s.From, s.Bytes, o.Version)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// read reads the beginning of an object. A small one is read whole, and proven.
func (v *View) read(ctx context.Context, key string, most int64) ([]byte, store.Object, error) {
	body, o, err := v.bucket.Get(ctx, key)
	if err != nil {
		return nil, o, err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, most))
	if err == nil && o.SizeBytes <= most {
		_, err = body.Read(make([]byte, 1)) // its end says whether it is right
		if err == io.EOF {
			err = nil
		}
	}
	return text, o, err
}
