package restore_test

import (
	"context"
	"io"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/data/restore"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// unsummed is a place that keeps no checksum of what others put.
type unsummed struct{ store.Store }

func bare(o store.Object) store.Object {
	o.SHA256, o.CRC64NVME, o.Other = "", "", store.Checksum{}
	return o
}

func (u unsummed) Get(ctx context.Context, key string) (io.ReadCloser, store.Object, error) {
	body, o, err := u.Store.Get(ctx, key)
	return body, bare(o), err
}

func (u unsummed) Head(ctx context.Context, key string) (store.Object, error) {
	o, err := u.Store.Head(ctx, key)
	return bare(o), err
}

func (u unsummed) List(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		for o, err := range u.Store.List(ctx, prefix) {
			if !yield(bare(o), err) {
				return
			}
		}
	}
}

// TestLook says how what is there stands before anything is brought, with the checksums of a bucket or without.
func TestLook(t *testing.T) {
	for name, wrap := range map[string]func(store.Store) store.Store{
		"with_checksums": func(s store.Store) store.Store { return s },
		"without":        func(s store.Store) store.Store { return unsummed{s} },
	} {
		t.Run(name, func(t *testing.T) {
			fake, dir := wrap(&storetest.Fake{}), filepath.Join(t.TempDir(), "here")
			put(t, fake, files{"m/ckpt-5/a": "weights", "m/ckpt-5/empty": ""})
			v, f, _, err := choose(t, fake, "m", newest)
			if err != nil {
				t.Fatal(err)
			}
			b := &restore.Bring{View: v, Found: f, Dir: dir}
			stands := func(want restore.Standing) {
				t.Helper()
				if got, err := b.Look(t.Context()); err != nil || got != want {
					t.Errorf("it stands as %v, %v; want %v", got, err, want)
				}
			}
			stands(restore.Absent)
			if _, err := b.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			stands(restore.Equal)
			if done, err := b.Run(t.Context()); err != nil || !done.Here {
				t.Errorf("again, it did %+v, %v", done, err)
			}
			write(t, dir, files{"ckpt-5/a": "weighte"})
			stands(restore.Different)
			write(t, dir, files{"ckpt-5/a": "weight"})
			stands(restore.Different)
		})
	}
}

// TestRestoresInEachOther has somebody bring files to the directory where the checkpoint comes to, below the one that is restored
// to: what is there of his is not tidied up.
func TestRestoresInEachOther(t *testing.T) {
	fake, dir := &storetest.Fake{}, t.TempDir()
	put(t, fake, files{"m/run/ckpt-5/a": "weights"})
	theirs := ".muster-restore-0123456789abcdef.tmp/b"
	write(t, filepath.Join(dir, "run"), files{theirs: "half"})
	lock, err := data.Claim(filepath.Join(dir, "run"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bring(t, fake, "m", dir, newest); err == nil || !strings.Contains(err.Error(), "another muster brings files to") {
		t.Errorf("got %v", err)
	}
	want(t, dir, files{"run/" + theirs: "half"})
	lock.Close()
	if _, err := bring(t, fake, "m", dir, newest); err != nil {
		t.Fatal(err)
	}
	want(t, dir, files{"run/ckpt-5/a": "weights"})
}
