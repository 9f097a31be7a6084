package export_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// TestRealServer is all that is tried on the S3 server that a local cluster has, which is built for it once.
func TestRealServer(t *testing.T) {
	objects, config := storetest.Stand(t)
	for name, try := range map[string]func(t *testing.T, objects string, s store.Store){
		"checkpoints": goesAllTheWay, "watched": isWatched,
		"killed":   func(t *testing.T, _ string, s store.Store) { isKilled(t, config, s) },
		"in-parts": func(t *testing.T, objects string, s store.Store) { isKilledInALargeFile(t, objects, config, s) },
	} {
		t.Run(name, func(t *testing.T) {
			config.Bucket = name
			s, err := store.Open(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.MakeBucket(t.Context()); err != nil {
				t.Fatal(err)
			}
			try(t, objects, s)
		})
	}
}

// goesAllTheWay is: out, changed, deleted, back.
func goesAllTheWay(t *testing.T, objects string, s store.Store) {
	dir := t.TempDir()
	write(t, dir, job)
	m := mirror(dir, s)
	finish(t, m)
	wantMirrored(t, dir, s, job)
	if text, err := os.ReadFile(filepath.Join(objects, "checkpoints/fsx1/run/latest")); string(text) != "checkpoint-2\n" {
		t.Errorf("the object's file holds %q, %v", text, err)
	}

	later := maps.Clone(job)
	later["run/latest"] = "checkpoint-4"
	later["run/checkpoint-4/model.bin"] = "weights 4"
	delete(later, "run/checkpoint-1/model.bin")
	if err := os.Remove(filepath.Join(dir, "run/checkpoint-1/model.bin")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, files{"run/latest": "checkpoint-4", "run/checkpoint-4/model.bin": "weights 4"})
	for range 2 {
		finish(t, m)
	}
	wantMirrored(t, dir, s, later)

	fresh := t.TempDir()
	if got := round(t, importer(t, fresh, "fsx1", s)); got.Files != len(lasting(later)) || len(got.Failed) > 0 {
		t.Errorf("%+v came back", got)
	}
	wantMirrored(t, fresh, s, later)
}

// isWatched has objects come, change and go by S3 and by hand: no look is a whole one but the first.
func isWatched(t *testing.T, objects string, s store.Store) {
	place(t, s, files{"fsx1/first": "1", "other/x": "1"})
	lists := &counting{Store: s}
	rule := export.Rule{Dir: t.TempDir(), Bucket: "watched", Prefix: "fsx1", New: true, Changed: true, Deleted: true, Import: allOf}
	m := &export.Mirror{Rule: rule, Pace: export.DefaultPace, Store: lists, Record: record(t, "", rule), Place: filepath.Join(objects, "watched")}
	defer m.Close()
	w := world{t: t, rule: rule}
	start := time.Now()
	want := func(all files) {
		t.Helper()
		for range 3 {
			start = start.Add(time.Second)
			if r, err := m.Round(t.Context(), start); err != nil || len(r.Import.Failed) > 0 {
				t.Fatal(err, r.Import.Failed)
			}
		}
		if diff := cmp.Diff(all, w.here()); diff != "" {
			t.Error(diff)
		}
	}
	want(files{"first": "1"})
	place(t, s, files{"fsx1/first": "two", "fsx1/d/e/later": "1", "other/y": "1"})
	want(files{"first": "two", "d/e/later": "1"})
	if err := errors.Join(s.Delete(t.Context(), "fsx1/first"), os.Mkdir(filepath.Join(objects, "watched/fsx1/by-hand"), 0o755),
		os.WriteFile(filepath.Join(objects, "watched/fsx1/by-hand/f"), []byte("f"), 0o644)); err != nil {
		t.Fatal(err)
	}
	want(files{"d/e/later": "1", "by-hand/f": "f"})
	write(t, rule.Dir, files{"mine": "m"})
	want(files{"d/e/later": "1", "by-hand/f": "f", "mine": "m"})
	if got := bucket(t, s)["fsx1/mine"]; got != "m" {
		t.Errorf("the new file's object is %q", got)
	}
	if err := os.RemoveAll(filepath.Join(objects, "watched/fsx1/by-hand")); err != nil {
		t.Fatal(err)
	}
	want(files{"d/e/later": "1", "mine": "m"})
	if lists.whole != 1 {
		t.Errorf("the bucket was listed %d times", lists.whole)
	}
}

// counting is a store that counts the lists of everything.
type counting struct {
	store.Store
	whole int
}

func (c *counting) List(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	if prefix == "fsx1/" {
		c.whole++
	}
	return c.Store.List(ctx, prefix)
}
