package export_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// asked is a store that counts the objects that were asked about.
type asked struct {
	store.Store
	heads atomic.Int32
}

func (a *asked) Head(ctx context.Context, key string) (store.Object, error) {
	a.heads.Add(1)
	return a.Store.Head(ctx, key)
}

// many is a link whose directory has so many files, all of them in the bucket, and how to begin with it anew.
func many(t testing.TB, n int, in export.Policy) (fake *storetest.Fake, start func(store.Store) *export.Mirror) {
	rule := export.Rule{Dir: t.TempDir(), Bucket: "b", Prefix: "some/prefix", New: true, Changed: true, Deleted: true, Import: in}
	old := time.Now().Add(-time.Hour)
	for i := range n {
		p := filepath.Join(rule.Dir, fmt.Sprintf("a-directory-%d/a-file-%d.bin", i/500, i))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(p, old, old); err != nil {
			t.Fatal(err)
		}
	}
	fake = &storetest.Fake{}
	name := filepath.Join(t.TempDir(), "record")
	start = func(s store.Store) *export.Mirror {
		r, err := export.OpenRecord(name, rule)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		return &export.Mirror{Rule: rule, Pace: export.DefaultPace, Store: s, Record: r}
	}
	settle(t, start(fake))
	return fake, start
}

// settle runs rounds until one finds nothing to do.
func settle(t testing.TB, m *export.Mirror) {
	t.Helper()
	for range 5 {
		r, err := m.Round(t.Context(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Objects)+r.Pending == 0 {
			return
		}
	}
	t.Fatal("it goes on and on")
}

func heap() int64 {
	var stats runtime.MemStats
	for range 2 {
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// held is how many bytes a mirror at rest holds for each of so many objects.
func held(t testing.TB, n int, in export.Policy) int64 {
	fake, start := many(t, n, in)
	before := heap()
	m := start(fake)
	settle(t, m)
	bytes := (heap() - before) / int64(n)
	runtime.KeepAlive(m)
	runtime.KeepAlive(fake)
	return bytes
}

func TestLittleIsHeldOfEachObject(t *testing.T) {
	if bytes := held(t, 4000, allOf); bytes > 600 {
		t.Errorf("a mirror holds %d bytes for each object", bytes)
	}
}

// TestRestartAsksAboutNothing has the record know what a listing does not say, for links of both kinds.
func TestRestartAsksAboutNothing(t *testing.T) {
	for name, policy := range map[string]export.Policy{"exports": {}, "both ways": allOf} {
		t.Run(name, func(t *testing.T) {
			fake, start := many(t, 50, policy)
			a := &asked{Store: fake}
			for range 2 {
				m := start(a)
				settle(t, m)
				if n := a.heads.Load(); n != 0 {
					t.Fatalf("%d objects were asked about", n)
				}
			}
			m := start(a)
			replace(t, filepath.Join(m.Rule.Dir, "a-directory-0/a-file-7.bin"), "")
			settle(t, m)
			if n := a.heads.Load(); n == 0 || n > 2 {
				t.Errorf("%d objects were asked about for one file that was touched", n)
			}
		})
	}
}

// TestNewFileWaitsForNoOldOnes has a bucket of which nothing is known but a listing.
func TestNewFileWaitsForNoOldOnes(t *testing.T) {
	fake, start := many(t, 2100, export.Policy{})
	a := &asked{Store: fake}
	m := start(a)
	m.Record = nil
	write(t, m.Rule.Dir, files{"new": "new"})
	r, err := m.Round(t.Context(), time.Now())
	if err != nil || len(r.Objects) != 1 || r.Pending != 100 {
		t.Errorf("%d objects were put, %d wait: %v", len(r.Objects), r.Pending, err)
	}
	if n := a.heads.Load(); n != 2000 {
		t.Errorf("%d objects were asked about at first", n)
	}
	m.LookAgain()
	if r, err = m.Round(t.Context(), time.Now()); err != nil || r.Pending != 0 || fake.Puts() != 2101 {
		t.Errorf("%d wait, %d objects were put: %v", r.Pending, fake.Puts(), err)
	}
}

func BenchmarkHeld(b *testing.B) {
	b.ReportMetric(float64(held(b, 80_000, allOf)), "B/object")
}
