package data

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/data/walk"
	"github.com/muster-hpc/muster/internal/store"
)

// what is written of a path in each source: "." for nothing, else size and version, as "3a".
type known struct{ path, walk, committed, noted, object string }

func sizeOf(s string) int64 { return int64(s[0] - '0') }

// given makes sources of what is known of some paths.
func given(all []known) sources {
	slices.SortFunc(all, func(a, b known) int { return strings.Compare(a.path, b.path) })
	return sources{
		walk: of(all, func(k known) string { return k.walk }, func(p, s string) walk.File {
			return walk.File{Path: p, SizeBytes: sizeOf(s), ModTime: int64(s[1])}
		}),
		committed: of(all, func(k known) string { return k.committed }, recordOf),
		noted: of(all, func(k known) string { return k.noted }, func(p, s string) note {
			if s == "begun" {
				return note{Path: p, Begun: &begun{Upload: "id"}}
			}
			r := recordOf(p, s)
			return note{Path: p, Record: &r}
		}),
		objects: of(all, func(k known) string { return k.object }, func(p, s string) store.Object {
			return store.Object{Key: p, SizeBytes: sizeOf(s), Version: s[1:]}
		}),
	}
}

func recordOf(p, s string) manifest.Record {
	return manifest.Record{Path: p, SizeBytes: sizeOf(s), ModTime: int64(s[1]), Version: s[1:]}
}

func of[T any](all []known, pick func(known) string, make func(p, s string) T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, k := range all {
			if s := pick(k); s != "." && !yield(make(k.path, s), nil) {
				return
			}
		}
	}
}

var deeds = map[deed]string{keep: "keep", compare: "compare", send: "send", stay: "stay", remove: "remove", stray: "stray", lost: "lost", nothing: "nothing", wrong: "wrong"}

// anything is wanted, and no directory took a file's place.
var anything = rules{wanted: func(string) bool { return true }, occupied: func(string) bool { return false }}

func stepsOf(t *testing.T, s sources, r rules) []step {
	t.Helper()
	var all []step
	for d, err := range plan(s, r) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
	return all
}

func TestPlan(t *testing.T) {
	const removes, unwanted, occupied = 1, 2, 4
	for name, c := range map[string]struct {
		walk, committed, noted, object string
		rule                           int
		want                           string
	}{
		"new":                           {"3a", ".", ".", ".", 0, "send"},
		"unchanged":                     {"3a", "3a", ".", "3a", 0, "keep"},
		"another_size":                  {"4a", "3a", ".", "3a", 0, "send named"},
		"another_time":                  {"3b", "3a", ".", "3a", 0, "send named"},
		"deleted_in_the_bucket":         {"3a", "3a", ".", ".", 0, "send"},
		"replaced_in_the_bucket":        {"3a", "3a", ".", "3x", 0, "compare named"},
		"replaced_by_another_size":      {"3a", "3a", ".", "4x", 0, "send named"},
		"sent_before_the_cut":           {"3a", ".", "3a", "3a", 0, "keep fresh"},
		"changed_and_sent_before":       {"3b", "3a", "3b", "3b", 0, "keep fresh named"},
		"sent_before_and_changed_since": {"4c", "3a", "3b", "3b", 0, "send named"},
		"sent_before_and_replaced":      {"3a", ".", "3a", "3x", 0, "compare"},
		"there_and_of_its_size":         {"3a", ".", ".", "3x", 0, "compare"},
		"there_and_of_another_size":     {"3a", ".", ".", "4x", 0, "send"},
		"begun_before_the_cut":          {"3a", ".", "begun", ".", 0, "send begun"},
		"begun_and_gone":                {".", ".", "begun", ".", 0, "nothing begun"},
		"gone":                          {".", "3a", ".", "3a", 0, "stay"},
		"gone_to_be_removed":            {".", "3a", ".", "3a", removes, "remove named"},
		"gone_and_not_wanted":           {".", "3a", ".", "3a", removes | unwanted, "stay"},
		"gone_and_replaced":             {".", "3a", ".", "3x", removes, "stray named"},
		"gone_everywhere":               {".", "3a", ".", ".", removes, "lost"},
		"a_directory_took_its_place":    {".", "3a", ".", "3a", occupied, "stray named"},
		"somebody_elses":                {".", ".", ".", "3x", removes, "stray"},
		"sent_before_and_gone":          {".", ".", "3a", "3a", 0, "stray"},
		"sent_before_to_be_removed":     {".", ".", "3a", "3a", removes, "remove"},
		"removed_before_the_cut":        {".", ".", "3a", ".", removes, "nothing"},
	} {
		r := anything
		r.remove = c.rule&removes != 0
		r.wanted = func(string) bool { return c.rule&unwanted == 0 }
		r.occupied = func(string) bool { return c.rule&occupied != 0 }
		got := stepsOf(t, given([]known{{"p", c.walk, c.committed, c.noted, c.object}}), r)
		if len(got) != 1 {
			t.Errorf("%s: got %+v", name, got)
			continue
		}
		if said := said(got[0]); said != c.want {
			t.Errorf("%s: got %q, want %q", name, said, c.want)
		}
	}
}

// said is a step in words.
func said(s step) string {
	text := deeds[s.deed]
	if s.fresh && (s.deed == keep || s.deed == stay) {
		text += " fresh"
	}
	if s.named && s.deed != keep && s.deed != stay || s.named && s.fresh {
		text += " named"
	}
	if s.begun != nil {
		text += " begun"
	}
	return text
}

func TestPlanWhereFilesAndDirectoriesSwap(t *testing.T) {
	s := given([]known{{"a", "3a", ".", ".", "."}, {"a-", ".", "3a", ".", "3a"}, {"a/b", ".", "3a", ".", "3a"}, {"a0", ".", "3a", ".", "3a"}})
	var got []string
	for _, d := range stepsOf(t, s, anything) {
		got = append(got, d.path+" "+deeds[d.deed])
	}
	if want := "[a send a- stay a/b stray a0 stay]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestAnyPlan holds for random sources: each path has one step, in order; what is of no push is never removed; what is
// kept is what the file and the object are.
func TestAnyPlan(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 3))
		var all []known
		for _, p := range []string{"a", "a-", "a/b", "a/c", "a0", "b", "c/d/e", "c/d/f"} {
			k := known{p, version(r), version(r), version(r), version(r)}
			if k.walk+k.committed+k.noted+k.object != "...." {
				all = append(all, k)
			}
		}
		rule := anything
		rule.remove = r.IntN(2) == 0
		steps := stepsOf(t, given(all), rule)
		if len(steps) != len(all) {
			t.Fatalf("seed %d: %d steps for %d paths", seed, len(steps), len(all))
		}
		for i, d := range steps {
			k := all[i]
			ours := k.object != "." && (k.committed == k.object || k.noted == k.object)
			switch {
			case d.path != k.path:
				t.Errorf("seed %d: %s where %s comes", seed, d.path, k.path)
			case (d.deed == keep || d.deed == compare || d.deed == send) != (k.walk != "."):
				t.Errorf("seed %d: %s of %+v", seed, deeds[d.deed], k)
			case d.deed == remove && (!ours || !rule.remove), d.deed == keep && !ours, d.deed == stay && k.committed != k.object:
				t.Errorf("seed %d: %s of %+v", seed, deeds[d.deed], k)
			case d.deed == keep && k.walk != k.object:
				t.Errorf("seed %d: keeps %+v", seed, k)
			}
		}
	}
}

func version(r *rand.Rand) string { return []string{".", "3a", "3b", "4a"}[r.IntN(4)] }

func TestPlanRefusesDisorder(t *testing.T) {
	s := given(nil)
	s.objects = func(yield func(store.Object, error) bool) {
		_ = yield(store.Object{Key: "b"}, nil) && yield(store.Object{Key: "a"}, nil)
	}
	var last error
	for _, err := range plan(s, anything) {
		last = err
	}
	if last == nil || !strings.Contains(last.Error(), `"a" comes after "b"`) {
		t.Errorf("got %v", last)
	}
}
