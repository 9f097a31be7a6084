package batch

import (
	"os"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// unlike are texts that bash reads and we do not, and unsure those that we read and bash
// does not.
var (
	unlike = []string{
		"! ! ls",               // of no use in a script
		"echo $((ls) | wc)",    // $( (ls) | wc) for bash
		"x[0]=(a)",             // bash fails at it when it runs
		"cat <<EOF␤$(date␤EOF", // bash fails at it when it runs
		`echo ${x["a"]} ${x['a']} ${x[$y]} ${x["$y"]} ${x[a b]} ${x[a-b]} ${x[a/b]} ${x[a.b]}`, // ${x[a b]} alone
		"x[a b]=1",
	}
	unsure = []string{"shopt -s extglob␤ls !(a|b)", "ls !(a)", "ls @(a|b) +(a) ?(b) *(c)", "rm -rf !(x)", "in"} // extglob is on where the line before says so
)

// TestParse holds what is read of a text to what bash reads.
func TestParse(t *testing.T) {
	data, err := os.ReadFile("testdata/bash-5.2/texts.tsv")
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	for line := range strings.Lines(string(data)) {
		verdict, text, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		failure := parse(strings.ReplaceAll(text, "␤", "\n")).failure
		if slices.Contains(unlike, text) || slices.Contains(unsure, text) {
			known++
			if (failure != nil) == (verdict == "refuses") {
				t.Errorf("%s is no difference any more", text)
			}
			continue
		}
		if (failure != nil) != (verdict == "refuses") {
			t.Errorf("bash %s %q, and the failure is %v", verdict, text, failure)
		}
	}
	if known != len(unlike)+len(unsure) {
		t.Errorf("%d of the differences are in the record, of %d", known, len(unlike)+len(unsure))
	}
}

// TestParse_keeps_the_words: what is changed for the parser is not changed for the rules.
func TestParse_keeps_the_words(t *testing.T) {
	for text, want := range map[string]string{
		`a=("A"=$B b)`:              `"A"=$B b`,
		"a=(--freq [0]*3+[1]*58)":   "--freq [0]*3+[1]*58",
		"a=(x = [a]b [[:alpha:]]*)": "x = [a]b [[:alpha:]]*",
	} {
		p := parse(text)
		if p.failure != nil || len(p.stmts) != 1 || len(p.oddities) > 0 {
			t.Errorf("%s: %+v", text, p)
			continue
		}
		var got []string
		for _, e := range p.stmts[0].Cmd.(*syntax.CallExpr).Assigns[0].Array.Elems {
			var b strings.Builder
			if err := syntax.NewPrinter().Print(&b, e.Value); err != nil {
				t.Fatal(err)
			}
			got = append(got, b.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has the elements %q", text, got)
		}
	}
}

// TestParse_ends: a text that needs more repairs than are made ends, and is not read.
func TestParse_ends(t *testing.T) {
	if p := parse("a=(" + strings.Repeat(`"x"=y `, maxRepairs+1) + ")\n"); p.failure == nil {
		t.Error("all was read")
	}
	if p := parse("a=(" + strings.Repeat(`"x"=y `, maxRepairs-1) + ")\n"); p.failure != nil {
		t.Errorf("it was not read: %v", p.failure)
	}
}
