package controller_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// losing is a place whose bucket can be deleted with all that is in it.
type losing struct {
	store.Store // what exports do not use

	bucket  atomic.Pointer[storetest.Fake] // nil while there is none
	refuses atomic.Bool                    // makes no bucket
}

func (l *losing) MakeBucket(context.Context) error {
	if l.refuses.Load() {
		return errors.New("make bucket b: refused")
	}
	l.bucket.CompareAndSwap(nil, &storetest.Fake{})
	return nil
}

func (l *losing) Put(ctx context.Context, u store.Upload) (store.Object, error) {
	if b := l.bucket.Load(); b != nil {
		return b.Put(ctx, u)
	}
	return store.Object{}, store.ErrNotFound
}

func (l *losing) Get(ctx context.Context, key string) (io.ReadCloser, store.Object, error) {
	if b := l.bucket.Load(); b != nil {
		return b.Get(ctx, key)
	}
	return nil, store.Object{}, store.ErrNotFound
}

func (l *losing) Head(ctx context.Context, key string) (store.Object, error) {
	if b := l.bucket.Load(); b != nil {
		return b.Head(ctx, key)
	}
	return store.Object{}, store.ErrNotFound
}

func (l *losing) List(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	if b := l.bucket.Load(); b != nil {
		return b.List(ctx, prefix)
	}
	return func(yield func(store.Object, error) bool) { yield(store.Object{}, store.ErrNotFound) }
}

func (l *losing) Delete(ctx context.Context, key string) error {
	if b := l.bucket.Load(); b != nil {
		return b.Delete(ctx, key)
	}
	return nil
}

func TestExports_make_a_lost_bucket_again(t *testing.T) {
	for _, c := range []struct {
		name  string
		flush bool
	}{{"while_it_runs", false}, {"at_the_last_export", true}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				place := &losing{}
				a := mirrored(t, place)
				makeFile(t, a.Rule.Dir, "checkpoint-2/model.bin", "weights")
				makeFile(t, a.Rule.Dir, "latest", "checkpoint-2")
				e := running(t, a)
				rest()
				place.bucket.Store(nil)
				if c.flush {
					if err := e.Flush(t.Context()); err != nil {
						t.Error(err)
					}
				} else {
					rest()
				}
				for _, name := range []string{"checkpoint-2/model.bin", "latest"} {
					if _, err := place.Head(t.Context(), name); err != nil {
						t.Errorf("%s was not exported again: %v", name, err)
					}
					if _, err := os.Stat(filepath.Join(a.Rule.Dir, name)); err != nil {
						t.Errorf("the empty bucket took a file: %v", err)
					}
				}
				if s := e.Status()[0]; s.Error != "" || s.Pending != 0 || s.PendingUnknown {
					t.Errorf("the status is %+v", s)
				}
			})
		})
	}
}

func TestExports_that_cannot_be_looked_at_are_unknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		place := &losing{}
		a := mirrored(t, place)
		makeFile(t, a.Rule.Dir, "model.bin", "weights")
		e := running(t, a)
		rest()
		if s := e.Status()[0]; s.PendingUnknown {
			t.Errorf("all is well, and the status is %+v", s)
		}
		place.refuses.Store(true)
		place.bucket.Store(nil)
		rest()
		if s := e.Status()[0]; !s.PendingUnknown || s.Error == "" {
			t.Errorf("without a bucket the status is %+v", s)
		}
		place.refuses.Store(false)
		rest()
		if s := e.Status()[0]; s.PendingUnknown {
			t.Errorf("with a bucket again the status is %+v", s)
		}
	})
}

func rest() {
	<-time.After(time.Minute)
	synctest.Wait()
}
