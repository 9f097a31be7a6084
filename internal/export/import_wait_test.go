package export_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

func place(t *testing.T, s store.Store, all files) {
	t.Helper()
	for k, text := range all {
		u := store.Upload{Key: k, Body: strings.NewReader(text), SizeBytes: int64(len(text))}
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			u.Body, u.SizeBytes = strings.NewReader(target), int64(len(target))
			u.Meta = map[string]string{"file-permissions": "0120777", "file-mtime": "1ns"}
		}
		if _, err := s.Put(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
}

// counted is a store that counts what is read.
type counted struct {
	store.Store
	mu   sync.Mutex
	gets []string
}

func (c *counted) Get(ctx context.Context, key string) (io.ReadCloser, store.Object, error) {
	c.mu.Lock()
	c.gets = append(c.gets, key)
	c.mu.Unlock()
	return c.Store.Get(ctx, key)
}

func (c *counted) reads(key string) int {
	return len(slices.DeleteFunc(slices.Clone(c.gets), func(k string) bool { return k != key }))
}

// eitherOr is a name and one below it: only one of them can be a file, whichever came first.
func eitherOr(s string) bool {
	return slices.Contains([]string{"import file:", "import file/below:"}, s)
}

// TestOneBadObject has objects that cannot come: all others do, and every export.
func TestOneBadObject(t *testing.T) {
	fake := &storetest.Fake{}
	place(t, fake, files{
		"bad": "x", "out": "-> ../../out", "file": "x", "file/below": "x", strings.Repeat("n", 256): "x", "good": "x",
		"run/checkpoint-1/m": "1", "run/latest": "checkpoint-1",
		"broken/checkpoint-2/m": "2", "broken/latest": "checkpoint-2", "broken/latest_old": "checkpoint-1", "broken/checkpoint-1/m": "1",
	})
	fake.Damage("bad")
	fake.Damage("broken/checkpoint-2/m")
	dir := t.TempDir()
	write(t, dir, files{"mine": "new"})
	rule := export.Rule{Dir: dir, New: true, Changed: true, Deleted: true, Import: allOf}
	m := &export.Mirror{Rule: rule, Pace: export.DefaultPace, Store: fake, Record: record(t, "", rule)}
	result, err := m.Round(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var failed []string
	for _, err := range result.Import.Failed {
		failed = append(failed, strings.Join(strings.Fields(err.Error())[:2], " "))
	}
	want := []string{"import bad:", "import broken/checkpoint-2/m:", "import broken/latest:", "import " + strings.Repeat("n", 256) + ":", "import out:"}
	if got := slices.DeleteFunc(failed, eitherOr); !cmp.Equal(want, got) {
		t.Error(cmp.Diff(want, got))
	}
	w := world{t: t, rule: rule}
	came := files{"good": "x", "run/latest": "checkpoint-1", "run/checkpoint-1/m": "1", "broken/latest_old": "checkpoint-1"}
	for p, text := range came {
		if got := w.here()[p]; got != text {
			t.Errorf("%s is %q, want %q", p, got, text)
		}
	}
	if _, err := fake.Head(t.Context(), "mine"); err != nil {
		t.Errorf("the export did not go on: %v", err)
	}
	m.Round(t.Context(), time.Now().Add(time.Hour))
	if _, err := fake.Head(t.Context(), "bad"); err != nil {
		t.Errorf("what could not be imported was deleted: %v", err)
	}
}

func TestRetriesBackOff(t *testing.T) {
	fake := &storetest.Fake{}
	place(t, fake, files{"bad": "x"})
	fake.Damage("bad")
	c := &counted{Store: fake}
	m := importer(t, t.TempDir(), "", c)
	start := time.Now()
	for s := range 600 {
		result, err := m.Round(t.Context(), start.Add(time.Duration(s)*time.Second))
		if err != nil || len(result.Import.Failed) != 1 {
			t.Fatalf("after %d s: %+v, %v", s, result.Import, err)
		}
	}
	if n := c.reads("bad"); n < 5 || n > 12 {
		t.Errorf("it was read %d times in ten minutes", n)
	}
	place(t, fake, files{"bad": "better"})
	if result, err := m.Round(t.Context(), start.Add(601*time.Second)); err != nil || result.Import.Files != 1 {
		t.Errorf("the new object did not come at once: %+v, %v", result.Import, err)
	}
}

// TestOpenFileStays has a file that a job has open for writing when its object changes, and goes.
func TestOpenFileStays(t *testing.T) {
	fake := &storetest.Fake{}
	dir := t.TempDir()
	m := importer(t, dir, "", fake)
	place(t, fake, files{"f": "one", "other": "x"})
	round(t, m)
	f, err := os.OpenFile(filepath.Join(dir, "f"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	place(t, fake, files{"f": "changed"})
	got := round(t, m)
	if text, err := os.ReadFile(f.Name()); got.Waiting != 1 || string(text) != "one" {
		t.Errorf("%+v: the open file is %q, %v", got, text, err)
	}
	if err := fake.Delete(t.Context(), "f"); err != nil {
		t.Fatal(err)
	}
	if got := round(t, m); got.Waiting != 1 || got.Removed != 0 {
		t.Errorf("deleted meanwhile: %+v", got)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got := round(t, m); got.Removed != 1 {
		t.Errorf("after the end of the writing: %+v", got)
	}
}

func TestLeftoversOfImportsGo(t *testing.T) {
	dir := t.TempDir()
	fake := &storetest.Fake{}
	const stale = "d/.tmp-import-0123456789abcdef"
	write(t, dir, files{stale: "half", "d/.tmp-import-mine": "kept"})
	m := mirror(dir, fake)
	finish(t, m)
	if _, err := os.Lstat(filepath.Join(dir, stale)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("at the start it stays: %v", err)
	}
	write(t, dir, files{stale: "half"})
	finish(t, m)
	if _, err := os.Lstat(filepath.Join(dir, stale)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("later it stays: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "d/.tmp-import-mine")); err != nil {
		t.Errorf("a file of somebody's went: %v", err)
	}
}

// TestWhatIsLostIsRestored has a directory that is made anew and a bucket that is.
func TestWhatIsLostIsRestored(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "fsx")
	name := filepath.Join(t.TempDir(), "record")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	rule := export.Rule{Dir: dir, Prefix: "fsx1", New: true, Changed: true, Deleted: true, Import: allOf}
	write(t, dir, job)
	fake := &storetest.Fake{}
	open := func(s store.Store) *export.Mirror {
		return &export.Mirror{Rule: rule, Pace: export.DefaultPace, Store: s, Record: record(t, name, rule)}
	}
	finish(t, open(fake))
	lost := &storetest.Fake{}
	finish(t, open(lost))
	wantMirrored(t, dir, lost, job)
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	finish(t, open(lost))
	wantMirrored(t, dir, lost, job)
	w := world{t: t, rule: rule}
	if got := w.here(); len(got) != len(lasting(job)) {
		t.Errorf("%d files are there again, want %d", len(got), len(lasting(job)))
	}
}
