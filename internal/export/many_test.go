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

func BenchmarkHeld(b *testing.B) {
	b.ReportMetric(float64(held(b, 80_000, allOf)), "B/object")
}
