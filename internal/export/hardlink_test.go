package export_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// TestHardLinkIsComparedOnce gives exported files a second name, of which the kernel says nothing to those who watch
// the first one.
func TestHardLinkIsComparedOnce(t *testing.T) {
	for name, in := range map[string]export.Policy{"export": {}, "both_ways": allOf} {
		t.Run(name, func(t *testing.T) {
			rule := export.Rule{Dir: t.TempDir(), New: true, Changed: true, Deleted: true, Import: in}
			write(t, rule.Dir, files{"a": "hi"})
			fake, place, file := &storetest.Fake{}, t.TempDir(), filepath.Join(t.TempDir(), "record")
			start := func() *export.Mirror {
				m := &export.Mirror{Rule: rule, Pace: export.DefaultPace, Store: fake, Record: record(t, file, rule), Place: place}
				t.Cleanup(func() { m.Close() })
				return m
			}
			m := start()
			finish(t, m)
			if err := os.Link(filepath.Join(rule.Dir, "a"), filepath.Join(t.TempDir(), "b")); err != nil {
				t.Fatal(err)
			}
			if err := m.Peek(); err != nil {
				t.Fatal(err)
			}
			round(t, m)
			if err := m.Peek(); err != nil {
				t.Fatal(err)
			}
			if p := m.Track.Progress(); p.Files != 0 || len(p.Waiting) != 0 {
				t.Errorf("after a compare it is still %+v", p)
			}
			again := start()
			result, err := again.Round(t.Context(), time.Now())
			if err != nil || len(result.Objects) != 0 || fake.Puts() != 1 {
				t.Errorf("after a restart it is compared again: %+v, %v", result, err)
			}
		})
	}
}
