package sheet

import (
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/joshdk/go-junit"

	"github.com/muster-hpc/muster/internal/sys/golden"
	"github.com/muster-hpc/muster/internal/verify"
)

// TestJUnit has a foreign reader find what was written.
func TestJUnit(t *testing.T) {
	r := sample(4)
	r.Error = "the budget of 30m0s is spent"
	text, err := JUnit(r)
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "junit.xml", string(text))
	suites, err := junit.Ingest(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(suites) != len(r.Suites)+1 {
		t.Fatalf("%d suites, want %d and one more", len(suites), len(r.Suites))
	}
	for i, s := range r.Suites {
		got := suites[i].Totals
		want := junit.Totals{Tests: max(len(s.Results), 1)}
		for _, x := range append(s.Results, placeholder(s)...) {
			switch {
			case x.Verdict == verify.Fail:
				want.Failed++
			case x.Verdict == verify.Blind && x.Required:
				want.Error++
			case x.Verdict == verify.Blind || x.Verdict == verify.Skip:
				want.Skipped++
			default:
				want.Passed++
			}
		}
		got.Duration = 0
		if got != want {
			t.Errorf("suite %s: %+v, want %+v", s.Name, got, want)
		}
	}
	if end := suites[len(suites)-1]; end.Totals.Error != 1 || !strings.Contains(end.Tests[0].Message, "the budget of 30m0s is spent") {
		t.Errorf("the end: %+v", end)
	}
}

func placeholder(s verify.Suite) []verify.Result {
	if len(s.Results) > 0 {
		return nil
	}
	return []verify.Result{{Verdict: s.Verdict, Required: s.Verdict == verify.Blind}}
}

func FuzzJUnit(f *testing.F) {
	text, _ := json.Marshal(little())
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := verify.Parse(text)
		if err != nil {
			return
		}
		text, err = JUnit(r)
		if err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal(text, &struct{}{}); err != nil {
			t.Error(err)
		}
	})
}
