package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const root = "../../.."

func TestCodesAreFresh(t *testing.T) {
	want, err := codesPage(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, "docs", "ref", "codes.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/ref/codes.md is old, run `go run ./docs/ref/gen` (-sources +file):\n%s", diff)
	}
}

// TestCodesAreComplete compares with what the rules say in their own tests.
func TestCodesAreComplete(t *testing.T) {
	page, err := codesPage(root)
	if err != nil {
		t.Fatal(err)
	}
	goldens, err := filepath.Glob(filepath.Join(root, "internal", "*", "testdata", "*problems.txt"))
	if err != nil || len(goldens) == 0 {
		t.Fatalf("found no problems: %v", err)
	}
	said := regexp.MustCompile(`(?m): (error|warning|info|blind): .* \[([a-z/-]+)\]$`)
	for _, path := range goldens {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range said.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(page, "| `"+m[2]+"` | "+m[1]+" | ") {
				t.Errorf("%s has %s %s, the page has not", path, m[1], m[2])
			}
		}
	}
	if strings.Contains(page, "|  |") {
		t.Error("a code says nothing")
	}
}
