// Package configure holds what ParallelCluster does to the machines of a cluster, as it
// was read from its own sources, against what is decided about each part of it. An
// official image is ParallelCluster's install phase: what muster replaces is its
// configure phase and its user data.
package configure

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the repository's.
const root = "../.."

// The verdicts about what ParallelCluster does.
const (
	done      = "done"
	notNeeded = "not-needed"
	leftOut   = "left-out"
)

// recorded are the things that ParallelCluster does, by place: each is its kind and its
// name.
func recorded(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, name := range []string{"cookbook.tsv", "userdata.tsv", "read.tsv"} {
		for _, cells := range rows(t, filepath.Join("testdata", name), 5) {
			place, what := cells[0], cells[1]+" "+cells[2]
			if !slices.Contains(all[place], what) {
				all[place] = append(all[place], what)
			}
		}
	}
	return all
}

// rows are the cells of a file's lines.
func rows(t *testing.T, name string, width int) [][]string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != width {
			t.Fatalf("%s: want %d cells: %q", name, width, line)
		}
		all = append(all, cells)
	}
	return all
}

// decision is a line of decided.tsv: what of which places has which verdict, where it is
// done or said, by which words of that file, and why.
type decision struct {
	places, whats               []string
	verdict, where, phrase, why string
}

func decisions(t *testing.T) []decision {
	t.Helper()
	var all []decision
	for _, c := range rows(t, "decided.tsv", 6) {
		all = append(all, decision{strings.Split(c[0], "; "), strings.Split(c[1], "; "), c[2], c[3], c[4], c[5]})
	}
	return all
}

// whole says that a decision is about all of its places that no other one names.
func (d decision) whole() bool { return slices.Equal(d.whats, []string{"*"}) }

// TestEverythingIsDecided holds that each thing which ParallelCluster does has one
// decision, and that no decision is about nothing.
func TestEverythingIsDecided(t *testing.T) {
	all := recorded(t)
	if len(all) < 100 {
		t.Fatalf("only %d places were recorded", len(all))
	}
	open := map[string][]string{}
	for place, whats := range all {
		open[place] = slices.Clone(whats)
	}
	decided := decisions(t)
	take := func(place, what string) {
		at := slices.Index(open[place], what)
		if at < 0 {
			t.Errorf("decided.tsv: %s of %s is decided twice, or not in the record", what, place)
			return
		}
		open[place] = slices.Delete(open[place], at, at+1)
	}
	for _, d := range decided {
		for _, place := range d.places {
			for _, what := range d.whats {
				if !d.whole() {
					take(place, what)
				}
			}
		}
	}
	for _, d := range decided {
		for _, place := range d.places {
			if !d.whole() {
				continue
			}
			if len(open[place]) == 0 {
				t.Errorf("decided.tsv: nothing is left of %s for its line with *", place)
			}
			delete(open, place)
		}
	}
	for place, whats := range open {
		for _, what := range whats {
			t.Errorf("%s: %s is not decided", place, what)
		}
	}
}

// TestDecisionsHold holds that what is done stands in its file, and that the rest has a
// reason.
func TestDecisionsHold(t *testing.T) {
	for _, d := range decisions(t) {
		name := strings.Join(d.places, ", ") + ": " + strings.Join(d.whats, ", ")
		switch {
		case d.verdict == done && (d.where == "" || d.phrase == ""):
			t.Errorf("%s: want the file that does it, and words of it", name)
		case d.verdict == notNeeded && (d.where != "" || d.why == ""):
			t.Errorf("%s: want a reason, and no file", name)
		case d.verdict == leftOut && d.why == "":
			t.Errorf("%s: want a reason", name)
		case !slices.Contains([]string{done, notNeeded, leftOut}, d.verdict):
			t.Errorf("%s: %q is no verdict", name, d.verdict)
		}
		if d.where == "" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(d.where)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !strings.Contains(string(text), d.phrase) {
			t.Errorf("%s: %s does not have %q: say in test/configure/decided.tsv where it is now, then go run ./docs/ref/gen", name, d.where, d.phrase)
		}
	}
}
