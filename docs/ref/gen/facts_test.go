package main

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFactsNameTheirTests holds that each row of aws-facts.tsv has a test or a place
// where it is seen, and that it is there.
func TestFactsNameTheirTests(t *testing.T) {
	all, err := readFacts(factsName(root))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 33 {
		t.Errorf("only %d facts", len(all))
	}
	for _, f := range all {
		if f.title == "" || f.happens == "" || f.answer == "" || len(f.proofs) == 0 {
			t.Errorf("docs/ref/aws-facts.tsv:%d is not whole", f.line)
		}
		for _, p := range f.proofs {
			if holds, err := p.holds(root); err != nil || !holds {
				t.Errorf("docs/ref/aws-facts.tsv:%d: %s has no %s (%v)", f.line, p.place, p.what, err)
			}
		}
	}
}

func TestReadFacts_refuses(t *testing.T) {
	for _, text := range []string{"a\tb\n", "a\tb\tno proof\n", "a\tb\tc\td\n"} {
		path := filepath.Join(t.TempDir(), "facts.tsv")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if all, err := readFacts(path); err == nil {
			t.Errorf("%q is read as %+v", text, all)
		}
	}
}
