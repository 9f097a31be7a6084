package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFailuresClaimNothingWithoutProof holds that each row of failures.tsv is whole, and
// that what it says of muster can be seen where it says.
func TestFailuresClaimNothingWithoutProof(t *testing.T) {
	all, err := readFailures(failuresName(root))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 40 {
		t.Errorf("only %d failures", len(all))
	}
	seen := map[string]bool{}
	for _, f := range all {
		if seen[f.happened] {
			t.Errorf("line %d: this row is here twice", f.line)
		}
		seen[f.happened] = true
		for _, complaint := range f.complaints(root) {
			t.Errorf("docs/ref/failures.tsv:%d: %s", f.line, complaint)
		}
	}
}

// complaints are what is wrong with a row.
func (f failure) complaints(root string) []string {
	var all []string
	for name, text := range map[string]string{"a section": f.title, "what happened": f.happened, "versions": f.versions, "what muster does": f.does} {
		if strings.TrimSpace(text) == "" {
			all = append(all, "it has not "+name)
		}
	}
	if len(f.sources) == 0 {
		all = append(all, "it has no source")
	}
	for _, s := range f.sources {
		if !sourceForm.MatchString(s) {
			all = append(all, "its source is no issue, change or release of AWS's: "+s)
		}
	}
	switch f.state {
	case cannot, told:
		if len(f.proofs) == 0 {
			all = append(all, "it claims something, and shows it nowhere")
		}
	case open, nothing:
	default:
		all = append(all, "it has no known state: "+f.state)
	}
	for _, p := range f.proofs {
		holds, err := p.holds(root)
		switch {
		case err != nil:
			all = append(all, err.Error())
		case !holds && p.kind == lacks:
			all = append(all, p.place+" has "+p.what)
		case !holds:
			all = append(all, p.place+" has no "+p.what)
		}
	}
	return all
}

func TestFailure_complaints(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.go": "package a // waits\n", "a_test.go": "func TestA(t *testing.T) {\n// sleeps\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const good = "# S\nIt fell.\t3.9\thttps://github.com/aws/aws-parallelcluster/issues/1\tSTATE\tIt stands.\tPROOF\n"
	for _, row := range []struct {
		name, state, proof, want string
	}{
		{"phrase", cannot, "has a.go: waits", ""},
		{"test", cannot, "test .: TestA", ""},
		{"none_of_it", cannot, "lacks .: sleeps", ""},
		{"both", told, "has a.go: waits && test .: TestA", ""},
		{"open_without_proof", open, "-", ""},
		{"none_without_proof", nothing, "-", ""},
		{"claim_without_proof", cannot, "-", "shows it nowhere"},
		{"told_without_proof", told, "-", "shows it nowhere"},
		{"wrong_phrase", cannot, "has a.go: runs", "a.go has no runs"},
		{"wrong_phrase_of_open", open, "has a.go: runs", "a.go has no runs"},
		{"no_file", cannot, "has b.go: waits", "no such file"},
		{"no_folder", cannot, "lacks b: waits", "no such file"},
		{"test_that_is_longer", cannot, "test .: Test", "has no Test"},
		{"there_after_all", cannot, "lacks a.go: waits", "a.go has waits"},
		{"unknown_state", "fine", "-", "no known state"},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "failures.tsv")
			if err := os.WriteFile(path, []byte(strings.NewReplacer("STATE", row.state, "PROOF", row.proof).Replace(good)), 0o644); err != nil {
				t.Fatal(err)
			}
			all, err := readFailures(path)
			if err != nil || len(all) != 1 {
				t.Fatalf("%d rows, %v", len(all), err)
			}
			got := strings.Join(all[0].complaints(dir), "; ")
			if row.want == "" && got != "" || !strings.Contains(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestReadFailures_refuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "failures.tsv")
	for _, text := range []string{"It fell.\t3.9\tx\theld\tIt stands.\n", "It fell.\t3.9\tx\theld\tIt stands.\tsomewhere\n", "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := readFailures(path); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}

func TestLinks(t *testing.T) {
	got := links([]string{
		"https://github.com/aws/aws-parallelcluster/issues/6571", "https://github.com/aws/aws-parallelcluster-node/pull/734",
		"https://github.com/aws/aws-parallelcluster/releases/tag/v3.16.0",
	})
	const want = "[#6571](https://github.com/aws/aws-parallelcluster/issues/6571), " +
		"[node#734](https://github.com/aws/aws-parallelcluster-node/pull/734), " +
		"[3.16.0](https://github.com/aws/aws-parallelcluster/releases/tag/v3.16.0)"
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
