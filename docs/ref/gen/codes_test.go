package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../../.."

func TestDocumentsAreFresh(t *testing.T) {
	pages, err := documents(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range pages {
		got, err := os.ReadFile(filepath.Join(root, "docs", "ref", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("docs/ref/%s is old, run `go run ./docs/ref/gen` (-sources +file):\n%s", name, diff)
		}
	}
}

// bothRooms are the codes that spec and lint report: spec compares the directories that
// the file names, lint the default one of types that have disks on AWS.
var bothRooms = []string{"storage/mount", "storage/overlap"}

// TestCodesHaveOneRoom: whoever looks for a rule of the cluster file by its code finds it
// in one package.
func TestCodesHaveOneRoom(t *testing.T) {
	var rooms [2][]string
	for i, name := range []string{"spec", "lint"} {
		packages, err := sources(filepath.Join(root, "internal", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range packages {
			for _, c := range p.codes() {
				rooms[i] = append(rooms[i], c.name)
			}
		}
	}
	var both []string
	for _, name := range rooms[0] {
		if slices.Contains(rooms[1], name) && !slices.Contains(both, name) {
			both = append(both, name)
		}
	}
	slices.Sort(both)
	if diff := cmp.Diff(bothRooms, both); diff != "" {
		t.Errorf("codes of spec and lint (-want +got):\n%s", diff)
	}
}

// said are the forms in which the tests of rules keep what users see.
var said = []*regexp.Regexp{
	regexp.MustCompile(`(?m): (error|warning|info|blind): .* \[([a-z0-9]+/[a-z0-9-]+)\]$`),
	regexp.MustCompile(`(?m)^(error|warning|info|blind) ([a-z0-9]+/[a-z0-9-]+) `),
}

// TestCodesAreComplete compares with what the rules say in their own tests.
func TestCodesAreComplete(t *testing.T) {
	page, err := codesPage(root)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, pattern := range []string{"*/testdata/*problems.txt", "*/testdata/rules/*.golden", "*/testdata/rules/*.txtar"} {
		goldens, err := filepath.Glob(filepath.Join(root, "internal", pattern))
		if err != nil || len(goldens) == 0 {
			t.Fatalf("%s: found nothing: %v", pattern, err)
		}
		for _, path := range goldens {
			found += compareCodes(t, page, path)
		}
	}
	if found < 300 {
		t.Errorf("the tests of rules say only %d things", found)
	}
	for line := range strings.Lines(page) {
		if strings.HasSuffix(line, "|  |\n") {
			t.Errorf("a code says nothing: %s", line)
		}
	}
}

// compareCodes counts the problems of a golden file, and wants each in the page.
func compareCodes(t *testing.T, page, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, form := range said {
		for _, m := range form.FindAllStringSubmatch(string(text), -1) {
			found++
			if !strings.Contains(page, "| `"+m[2]+"` | "+m[1]+" | ") {
				t.Errorf("%s has %s %s, the page has not", path, m[1], m[2])
			}
		}
	}
	return found
}
