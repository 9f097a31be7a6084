package data_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bench is a source and a bucket.
type bench struct {
	t      *testing.T
	root   string
	state  string
	bucket store.Store
	data.PushOptions
}

func newBench(t *testing.T, bucket store.Store) *bench {
	t.Helper()
	dir := t.TempDir()
	b := &bench{t: t, root: filepath.Join(dir, "source"), state: filepath.Join(dir, "state"), bucket: bucket}
	b.MayShrink = true
	ok(t, os.Mkdir(b.root, 0o755))
	return b
}

func (b *bench) write(path, text string) {
	b.t.Helper()
	at := filepath.Join(b.root, path)
	ok(b.t, os.MkdirAll(filepath.Dir(at), 0o755))
	ok(b.t, os.WriteFile(at, []byte(text), 0o644))
}

func (b *bench) remove(path string) {
	b.t.Helper()
	ok(b.t, os.RemoveAll(filepath.Join(b.root, path)))
}

func (b *bench) of() data.Push {
	return data.Push{Bucket: b.bucket, Place: "test", Prefix: "set", Source: b.root, State: b.state, Options: b.PushOptions}
}

func (b *bench) push() (data.Pushed, error) { return b.of().Run(b.t.Context()) }

func (b *bench) preview(tell func(data.PushStep)) (data.Pushed, error) {
	return b.of().Preview(b.t.Context(), func(s data.PushStep) error {
		tell(s)
		return nil
	})
}

func (b *bench) pushes() data.Pushed {
	b.t.Helper()
	p, err := b.push()
	if err != nil {
		b.t.Fatalf("push: %v, %+v", err, p.Problems.List)
	}
	return p
}

// files are those of the source, with their content.
func (b *bench) files() map[string]string { return filesOf(b.t, b.root) }

// filesOf are those of a directory.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	ok(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		all[rel] = string(text)
		return err
	}))
	return all
}

// head is the dataset's.
func (b *bench) head() manifest.Head {
	b.t.Helper()
	h, err := manifest.ParseHead([]byte(b.content(manifest.HeadKey("set"))))
	ok(b.t, err)
	return h
}

func (b *bench) content(key string) string {
	b.t.Helper()
	body, _, err := b.bucket.Get(b.t.Context(), key)
	ok(b.t, err)
	defer body.Close()
	text, err := io.ReadAll(body)
	ok(b.t, err)
	return string(text)
}

// dataset has the contents of the objects that the manifest names, each of which is as it says.
func (b *bench) dataset() map[string]string {
	b.t.Helper()
	h := b.head()
	if h.State != manifest.Whole {
		b.t.Fatalf("the dataset is %s", h.State)
	}
	all := map[string]string{}
	text := b.content(manifest.ManifestKey("set", h.Manifest))
	var size int64
	for r, err := range manifest.NewReader(strings.NewReader(text)).All() {
		ok(b.t, err)
		key := manifest.Key("set", r.Path)
		o, err := b.bucket.Head(b.t.Context(), key)
		ok(b.t, err)
		all[r.Path] = b.content(key)
		sums, err := store.Sum(strings.NewReader(all[r.Path]), int64(len(all[r.Path])))
		ok(b.t, err)
		if o.Version != r.Version || sums.SHA256 != r.SHA256 || sums.CRC64NVME != r.CRC64NVME || r.SizeBytes != int64(len(all[r.Path])) {
			b.t.Errorf("the record of %s is %+v, the object %+v", r.Path, r, o)
		}
		size += r.SizeBytes
	}
	if h.Files != int64(len(all)) || h.Bytes != size {
		b.t.Errorf("the head counts %d files, %d bytes, not %d, %d", h.Files, h.Bytes, len(all), size)
	}
	return all
}

// wants has the dataset be these files, and nothing left over of what made it.
func (b *bench) wants(want map[string]string) {
	b.t.Helper()
	if diff := cmp.Diff(want, b.dataset()); diff != "" {
		b.t.Fatalf("the dataset (-want +got):\n%s", diff)
	}
	if left, err := os.ReadDir(b.state); err != nil && !errors.Is(err, fs.ErrNotExist) || len(left) > 0 {
		b.t.Errorf("left in the state directory: %v, %v", left, err)
	}
	if own := b.keys("set/.muster/"); len(own) != 2 {
		b.t.Errorf("of the dataset's own there is %q", own)
	}
}

func (b *bench) keys(below string) []string {
	b.t.Helper()
	var keys []string
	for o, err := range b.bucket.List(b.t.Context(), below) {
		ok(b.t, err)
		keys = append(keys, o.Key)
	}
	return keys
}

// frail is a bucket whose user dies at one of its calls, before it has an effect or after.
type frail struct {
	*storetest.Fake

	mu    sync.Mutex // guards what follows
	left  int        // calls until then; less than none for never
	after bool
	twice []string // keys that were put though the same was there
}

var errDead = errors.New("dead")

// call says that one is made; what it returns is called at its end.
func (f *frail) call() (func(error) error, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left--
	if f.left < -1 || f.left == -1 && !f.after {
		return nil, errDead
	}
	dies := f.left == -1
	return func(err error) error {
		if dies {
			return errDead
		}
		return err
	}, nil
}

// revive has it die after so many calls.
func (f *frail) revive(calls int, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left, f.after = calls, after
}

func (f *frail) Put(ctx context.Context, u store.Upload) (store.Object, error) {
	return f.put(ctx, u, f.Fake.Put)
}

func (f *frail) PutIf(ctx context.Context, u store.Upload, version string) (store.Object, error) {
	return f.put(ctx, u, func(ctx context.Context, u store.Upload) (store.Object, error) { return f.Fake.PutIf(ctx, u, version) })
}

func (f *frail) put(ctx context.Context, u store.Upload, put func(context.Context, store.Upload) (store.Object, error)) (store.Object, error) {
	end, err := f.call()
	if err != nil {
		return store.Object{}, err
	}
	former, headErr := f.Fake.Head(ctx, u.Key)
	o, err := put(ctx, u)
	if err == nil && headErr == nil && former.SHA256 == o.SHA256 && maps.Equal(former.Meta, u.Meta) {
		f.mu.Lock()
		f.twice = append(f.twice, u.Key)
		f.mu.Unlock()
	}
	return o, end(err)
}

func (f *frail) Delete(ctx context.Context, key string) error {
	end, err := f.call()
	if err != nil {
		return err
	}
	return end(f.Fake.Delete(ctx, key))
}

func (f *frail) DeleteIf(ctx context.Context, key, version string) error {
	end, err := f.call()
	if err != nil {
		return err
	}
	return end(f.Fake.DeleteIf(ctx, key, version))
}

// put puts an object as somebody else does.
func put(t *testing.T, s store.Store, key, text string) {
	t.Helper()
	_, err := s.Put(t.Context(), store.Upload{Key: key, Body: bytes.NewReader([]byte(text)), SizeBytes: int64(len(text))})
	ok(t, err)
}
