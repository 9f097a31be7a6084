package export_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

func TestProve(t *testing.T) {
	dir, fake := t.TempDir(), &storetest.Fake{}
	write(t, dir, files{"a/same": "one", "a/other": "two", "a/link": "-> same", "missing": "three", "later": "four", "gone": "five", "x.tmp": "no", "b": "six"})
	m := mirror(dir, fake)
	m.Rule.Prefix = ""
	finish(t, m)
	rule := m.Rule
	all, _, err := export.Wanted(rule, ".")
	if err != nil || len(all) != 7 {
		t.Fatalf("%d files are wanted, %v", len(all), err)
	}
	if some, _, err := export.Wanted(rule, "a"); err != nil || len(some) != 3 {
		t.Errorf("%d files are wanted of a, %v", len(some), err)
	}
	whole, err := export.Prove(t.Context(), rule, fake, all)
	if err != nil || !whole.OK() || whole.Proven != 7 {
		t.Errorf("of all it says %+v, %v", whole, err)
	}
	spoil(t, dir, fake)
	got, err := export.Prove(t.Context(), rule, fake, all)
	want := export.Proof{Proven: 3, Changed: 2, Missing: []string{"missing"}, Different: []string{"a/other"}}
	if err != nil {
		t.Fatal(err)
	}
	got.SizeBytes = 0
	if diff := cmp.Diff(want, got); diff != "" || got.OK() {
		t.Errorf("(-want +got):\n%s", diff)
	}
	rule.New, rule.Changed = false, false
	if got, err := export.Prove(t.Context(), rule, fake, all); err != nil || !got.OK() || got.LeftAlone != 2 {
		t.Errorf("of a rule that exports nothing it says %+v, %v", got, err)
	}
}

// spoil makes an object of the same size another one, and deletes one; changes one file, and
// deletes one.
func spoil(t *testing.T, dir string, s store.Store) {
	t.Helper()
	was, err := s.Head(t.Context(), "a/other")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), store.Upload{Key: "a/other", Body: strings.NewReader("owt"), SizeBytes: 3, Meta: was.Meta}); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "missing"); err != nil {
		t.Fatal(err)
	}
	write(t, dir, files{"later": "changed"})
	if err := os.Remove(filepath.Join(dir, "gone")); err != nil {
		t.Fatal(err)
	}
}
