package layer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/image/layer"
)

func TestBuildIsDoneOnce(t *testing.T) {
	one, dir := open(t)
	other, err := layer.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	z := zipped(tarball(t, file("a", big(1, 4<<20))))
	d := describe(z)
	var opened atomic.Int32
	opener := func(ctx context.Context) (io.ReadCloser, error) {
		opened.Add(1)
		return blob(z)(ctx)
	}
	var all sync.WaitGroup
	for i := range 20 {
		c := []*layer.Cache{one, other}[i%2]
		all.Go(func() {
			if err := c.Build(t.Context(), opener, d, layer.BuildOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := opened.Load(); n != 1 || !has(one, d.Digest) {
		t.Errorf("the layer was read %d times", n)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("the cache has %d files", len(left))
	}
}

func TestListAndRemove(t *testing.T) {
	c, dir := open(t)
	digests := build(t, c, tarball(t, file("a", "a")), tarball(t, file("b", strings.Repeat("b", 1000))))
	old := time.Now().Add(-time.Hour)
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range files {
		if err := os.Chtimes(f, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	assemble(t, c, digests[:1], nil, layer.Options{})
	list, err := c.List()
	if err != nil || len(list) != 2 || list[0].Digest != digests[1] || list[1].Digest != digests[0] || list[0].SizeBytes == 0 {
		t.Fatalf("got %+v, %v", list, err)
	}
	if !list[0].Used.Before(list[1].Used) {
		t.Errorf("use is not remembered: %v, %v", list[0].Used, list[1].Used)
	}
	for range 2 {
		if err := c.Remove(digests[0]); err != nil {
			t.Fatal(err)
		}
	}
	if has(c, digests[0]) || !has(c, digests[1]) || has(c, "sha256:x") || has(c, "") {
		t.Error("Has does not follow")
	}
	_, err = layer.Assemble(t.Context(), c, digests, nil, layer.Options{}, nil)
	if e := new(layer.Error); !errors.Is(err, layer.ErrMissing) || !errors.As(err, &e) || e.Digest != digests[0] {
		t.Errorf("got %v", err)
	}
}

func TestDamagedSegmentsAreMissing(t *testing.T) {
	damage := map[string]func([]byte) []byte{
		"cut":           func(b []byte) []byte { return b[:len(b)-1] },
		"empty":         func([]byte) []byte { return nil },
		"index_changed": func(b []byte) []byte { b[len(b)-150] ^= 1; return b },
		"other_version": func(b []byte) []byte { b[len(b)-9]++; return b },
		"zeroed":        func(b []byte) []byte { clear(b); return b },
	}
	for name, change := range damage {
		t.Run(name, func(t *testing.T) {
			c, dir := open(t)
			data := tarball(t, file("a", "a"), file("b", "b"))
			digests := build(t, c, data)
			files, _ := filepath.Glob(filepath.Join(dir, "*"))
			b, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(files[0], change(b), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := layer.Assemble(t.Context(), c, digests, nil, layer.Options{}, nil); !errors.Is(err, layer.ErrMissing) {
				t.Errorf("got %v", err)
			}
			build(t, c, data)
			if _, r := assemble(t, c, digests, nil, layer.Options{}); r.Entries != 3 {
				t.Errorf("built again, it has %+v", r)
			}
		})
	}
}

func TestKnownLayerHasToBeTheRightTar(t *testing.T) {
	c, _ := open(t)
	data := tarball(t, file("a", "a"))
	build(t, c, data)
	d := describe(zipped(data))
	d.DiffID = digest([]byte("another"))
	if err := c.Build(t.Context(), blob(nil), d, layer.BuildOptions{}); !errors.Is(err, layer.ErrDiffID) {
		t.Errorf("got %v", err)
	}
}

// What a killed build leaves goes when the cache is opened, but not what is
// being written.
func TestPartsOfTheDeadGo(t *testing.T) {
	c, dir := open(t)
	z := zipped(tarball(t, file("a", big(1, 1<<20))))
	dead := filepath.Join(dir, strings.Replace(digest(z), ":", "-", 1)+".part")
	living := filepath.Join(dir, strings.Replace(digest(nil), ":", "-", 1)+".part")
	for _, name := range []string{dead, living} {
		if err := os.WriteFile(name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(living)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := c.Build(t.Context(), blob(z), describe(z), layer.BuildOptions{}); err != nil {
		t.Errorf("a dead part stops a build: %v", err)
	}
	if err := os.WriteFile(dead, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := layer.Open(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead); err == nil {
		t.Error("a dead part stays")
	}
	if _, err := os.Stat(living); err != nil {
		t.Error("a part that is being written went")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Build(ctx, blob(nil), layer.Descriptor{Digest: digest(nil)}, layer.BuildOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for another process ends with %v", err)
	}
}

// A build ends with its context, in the middle of a stream that waits.
func TestBuildEndsWithItsContext(t *testing.T) {
	c, dir := open(t)
	z := zipped(tarball(t, file("a", big(1, 4<<20))))
	d := describe(z)
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := fmt.Errorf("the user pressed a key")
	opener := func(ctx context.Context) (io.ReadCloser, error) {
		r, w := io.Pipe()
		context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
		return struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(z[:len(z)/2]), &once{do: func() { cancel(reason) }}, r), r}, nil
	}
	refused(t, dir, d, c.Build(ctx, opener, d, layer.BuildOptions{}), reason)
}

// once does something when it is read, and ends.
type once struct{ do func() }

func (o *once) Read([]byte) (int, error) {
	o.do()
	return 0, io.EOF
}
