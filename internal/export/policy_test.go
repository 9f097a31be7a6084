package export_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// TestPolicies takes each policy alone, after a restart, too.
func TestPolicies(t *testing.T) {
	type put map[string]string
	for _, c := range []struct {
		name   string
		policy export.Policy
		want   files
	}{
		{"initial", export.Policy{Initial: true}, files{"old": "1", "change": "1", "gone": "1"}},
		{"new", export.Policy{New: true}, files{"new": "2", "change": "2"}},
		{"initial_and_new", export.Policy{Initial: true, New: true}, files{"old": "1", "change": "1", "gone": "1", "new": "2"}},
		{"initial_and_changed", export.Policy{Initial: true, Changed: true}, files{"old": "1", "change": "2", "gone": "1"}},
		{"initial_and_deleted", export.Policy{Initial: true, Deleted: true}, files{"old": "1", "change": "1"}},
		{"all", allOf, files{"old": "1", "change": "2", "new": "2"}},
	} {
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s_restarted_%v", c.name, restarted), func(t *testing.T) {
				fake := &storetest.Fake{}
				place := func(all put) {
					for _, k := range slices.Sorted(maps.Keys(all)) {
						if _, err := fake.Put(t.Context(), store.Upload{Key: k, Body: strings.NewReader(all[k]), SizeBytes: int64(len(all[k]))}); err != nil {
							t.Fatal(err)
						}
					}
				}
				rule := export.Rule{Dir: t.TempDir(), Import: c.policy}
				name := filepath.Join(t.TempDir(), "record")
				m := &export.Mirror{Rule: rule, Store: fake, Record: record(t, name, rule)}
				place(put{"old": "1", "change": "1", "gone": "1"})
				round(t, m)
				place(put{"change": "2", "new": "2"})
				if err := fake.Delete(t.Context(), "gone"); err != nil {
					t.Fatal(err)
				}
				if restarted {
					m = &export.Mirror{Rule: rule, Store: fake, Record: record(t, name, rule)}
				}
				for range 2 {
					round(t, m)
				}
				w := world{t: t, rule: rule}
				if diff := cmp.Diff(c.want, w.here()); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}
