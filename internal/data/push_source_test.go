package data_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// meddled is a bucket where something happens whenever a file is put, when half of it was read.
type meddled struct {
	*storetest.Fake
	meddle func(key string)
}

func (m *meddled) PutIf(ctx context.Context, u store.Upload, version string) (store.Object, error) {
	if !strings.Contains(u.Key, "/.muster/") {
		u.Body = meddledBody{u.Body, func() { m.meddle(u.Key) }}
	}
	return m.Fake.PutIf(ctx, u, version)
}

type meddledBody struct {
	from interface {
		ReadAt([]byte, int64) (int, error)
	}
	meddle func()
}

func (b meddledBody) ReadAt(p []byte, at int64) (int, error) {
	n, err := b.from.ReadAt(p, at)
	b.meddle()
	return n, err
}

func TestPushOfAFileThatChanges(t *testing.T) {
	for name, c := range map[string]struct {
		times int64
		how   func(at string) error
		want  string // what is in the bucket; "" for nothing
	}{
		"once":          {1, func(at string) error { return os.WriteFile(at, []byte("other"), 0o644) }, "other"},
		"grows_twice":   {2, func(at string) error { return appendTo(at, "+") }, "first++"},
		"shrinks":       {1, func(at string) error { return os.Truncate(at, 2) }, "fi"},
		"always":        {1 << 30, func(at string) error { return appendTo(at, "+") }, ""},
		"becomes_fifo":  {1, func(at string) error { return errors.Join(os.Remove(at), syscall.Mkfifo(at, 0o600)) }, ""},
		"goes_for_good": {1, os.Remove, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var times atomic.Int64
			bucket := &meddled{Fake: &storetest.Fake{}}
			b := newBench(t, bucket)
			b.write("a", "first")
			b.write("b", "quiet")
			at := filepath.Join(b.root, "a")
			bucket.meddle = func(key string) {
				if key == "set/a" && times.Add(1) <= c.times {
					ok(t, c.how(at))
				}
			}
			p, err := b.push()
			if c.want == "" {
				if !errors.Is(err, data.ErrSource) || p.Problems.All != 1 || p.Problems.List[0].Path != "a" || p.Committed {
					t.Fatalf("got %v, %+v", err, p)
				}
				if keys := b.keys("set/a"); len(keys) > 0 {
					t.Errorf("%q are there", keys)
				}
				return
			}
			ok(t, err)
			if got := b.content("set/a"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			b.wants(b.files())
			if p = b.pushes(); p.SentFiles != 0 {
				t.Errorf("the next push: %+v", p)
			}
		})
	}
}

func appendTo(at, text string) error {
	f, err := os.OpenFile(at, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// TestPushOfWhatCannotBeSent: all else is sent, nothing is committed or deleted, and nothing goes twice.
func TestPushOfWhatCannotBeSent(t *testing.T) {
	bucket := &storetest.Fake{}
	b := newBench(t, bucket)
	b.Delete = true
	b.write("old", "1")
	b.pushes()
	head := b.head()
	b.remove("old")
	b.write("new", "2")
	ok(t, syscall.Mkfifo(filepath.Join(b.root, "pipe"), 0o600))
	ok(t, os.Symlink("nowhere", filepath.Join(b.root, "link")))
	p, err := b.push()
	if !errors.Is(err, data.ErrSource) || p.Problems.All != 2 || p.SentFiles != 1 || p.DeletedFiles != 0 {
		t.Fatalf("got %v, %+v", err, p)
	}
	if now := b.head(); now != head {
		t.Errorf("the head is %+v", now)
	}
	if got := b.content("set/old"); got != "1" {
		t.Errorf("the old file has %q", got)
	}
	b.remove("pipe")
	b.NoFollow = true
	if p := b.pushes(); p.SentFiles != 0 || p.UnchangedFiles != 1 || p.LinksLeft != 1 || p.DeletedFiles != 1 {
		t.Errorf("got %+v", p)
	}
	if got := b.dataset(); len(got) != 1 || got["new"] != "2" {
		t.Errorf("the dataset is %q", got)
	}
}

func TestPushOfOneFile(t *testing.T) {
	b := newBench(t, &storetest.Fake{})
	b.write("x", "one")
	b.root = filepath.Join(b.root, "x")
	b.pushes()
	if got := b.dataset(); len(got) != 1 || got["x"] != "one" {
		t.Errorf("the dataset is %q", got)
	}
}

func TestPushWithPatterns(t *testing.T) {
	b := newBench(t, &storetest.Fake{})
	for _, p := range []string{"a.bin", "a.tmp", "d/b.bin", "d/b.tmp", "e/c.bin"} {
		b.write(p, p)
	}
	b.Exclude = []string{"**/*.tmp", "e"}
	b.pushes()
	want := map[string]string{"a.bin": "a.bin", "d/b.bin": "d/b.bin"}
	b.wants(want)
	b.Include, b.Exclude, b.Delete = []string{"e"}, nil, true
	b.pushes() // what is not meant stays as it is
	want["e/c.bin"] = "e/c.bin"
	b.wants(want)
}

// TestPushFindsWhatIsThere: what somebody else put does not go again if its checksum is that of the file.
func TestPushFindsWhatIsThere(t *testing.T) {
	bucket := &storetest.Fake{}
	b := newBench(t, bucket)
	b.write("same", "12345")
	b.write("other", "12345")
	put(t, bucket, "set/same", "12345")
	put(t, bucket, "set/other", "54321")
	if p := b.pushes(); p.FoundFiles != 1 || p.SentFiles != 1 {
		t.Errorf("got %+v", p)
	}
	b.wants(b.files())
}

func TestPreview(t *testing.T) {
	bucket := &storetest.Fake{}
	b := newBench(t, bucket)
	b.Delete = true
	for _, p := range []string{"same", "changes", "goes"} {
		b.write(p, p)
	}
	b.pushes()
	b.write("changes", "has changed")
	b.write("comes", "1")
	b.write("perhaps", "1")
	b.remove("goes")
	put(t, bucket, "set/perhaps", "2")
	ok(t, syscall.Mkfifo(filepath.Join(b.root, "pipe"), 0o600))
	puts := bucket.Puts()
	var got []string
	p, err := b.preview(func(s data.PushStep) { got = append(got, s.Deed+" "+s.Path) })
	ok(t, err)
	want := []string{"send changes", "send comes", "delete goes", "compare perhaps", "refuse pipe"}
	if !slices.Equal(got, want) || p.SentFiles != 2 || p.SentBytes != 12 || p.DeletedFiles != 1 || p.FoundFiles != 1 || p.UnchangedFiles != 1 || p.Problems.All != 1 {
		t.Errorf("got %q, %+v", got, p)
	}
	if now := bucket.Puts(); now != puts || b.content("set/goes") != "goes" {
		t.Error("a preview changed the bucket")
	}
}

// TestPushKeepsTheMode: a change of the mode alone moves no data.
func TestPushKeepsTheMode(t *testing.T) {
	b := newBench(t, &storetest.Fake{})
	b.write("a", "1")
	b.pushes()
	ok(t, os.Chmod(filepath.Join(b.root, "a"), 0o600))
	if p := b.pushes(); p.SentFiles != 0 || !p.Committed {
		t.Errorf("got %+v", p)
	}
	h := b.head()
	for r, err := range manifest.NewReader(strings.NewReader(b.content(manifest.ManifestKey("set", h.Manifest)))).All() {
		ok(t, err)
		if r.Mode != 0o600 {
			t.Errorf("the mode is %o", r.Mode)
		}
	}
}

// TestPushTellsFSx holds what an import by FSx for Lustre reads of an object.
func TestPushTellsFSx(t *testing.T) {
	bucket := &storetest.Fake{}
	b := newBench(t, bucket)
	b.write("a", "1")
	b.pushes()
	o, err := bucket.Head(t.Context(), "set/a")
	ok(t, err)
	if o.Meta["file-permissions"] != "0100644" || !strings.HasSuffix(o.Meta["file-mtime"], "ns") || o.Meta["file-owner"] == "" || o.Meta["file-group"] == "" {
		t.Errorf("the metadata are %v", o.Meta)
	}
}
