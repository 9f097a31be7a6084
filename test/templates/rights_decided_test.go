package templates

import (
	"bufio"
	"os"
	"slices"
	"strings"
	"testing"
)

// rightDecision says which actions of a type's schema nobody needs, or which it lacks.
type rightDecision struct {
	kind, action string
	// properties are those that lead to the action: no template may have one.
	properties []string
	line       int
	used       bool
}

// rightsDecided are the lines of rights.tsv: type, action, properties, reason.
func rightsDecided(t *testing.T) []*rightDecision {
	t.Helper()
	file, err := os.Open("rights.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []*rightDecision
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		if lines.Text() == "" || strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		cells := strings.Split(lines.Text(), "\t")
		if len(cells) != 4 || slices.Contains(cells, "") {
			t.Fatalf("rights.tsv:%d: want four cells, the last a reason: %q", n, lines.Text())
		}
		d := &rightDecision{kind: cells[0], action: cells[1], line: n}
		if cells[2] != "-" {
			d.properties = strings.Split(cells[2], ",")
		}
		all = append(all, d)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// apply takes the decided actions of a type out of those that it needs, or adds one.
func (d *rightDecision) apply(t *testing.T, kind string, properties map[string]bool, needs []string) []string {
	t.Helper()
	if d.kind != kind {
		return needs
	}
	for _, p := range d.properties {
		if properties[p] {
			t.Errorf("rights.tsv:%d: templates have %s of %s, so %s is needed", d.line, p, kind, d.action)
		}
	}
	if more, ok := strings.CutPrefix(d.action, "+"); ok {
		d.used = !slices.Contains(needs, more)
		return append(needs, more)
	}
	return slices.DeleteFunc(needs, func(a string) bool {
		decided := matches(d.action, a)
		d.used = d.used || decided
		return decided
	})
}
