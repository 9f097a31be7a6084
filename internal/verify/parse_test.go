package verify

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func complete() Report {
	r := Report{
		Identity: Identity{Cluster: "c", Muster: "1"}, Began: time.Date(2026, 11, 3, 8, 0, 0, 0, time.UTC), Nodes: []string{"n-1", "n-2"},
		Suites: []Suite{{Name: Network, Results: []Result{{Check: "pair", On: "n-1+n-2", Verdict: Pass, Value: &Value{Number: 12, Unit: "GB/s"}}},
			Matrices: []Matrix{{Name: "pair", Unit: "GB/s", Nodes: []string{"n-1", "n-2"}, Pairs: []Pair{{A: 0, B: 1, Value: 12}}}}}},
	}
	r.Close()
	return r
}

func TestParse(t *testing.T) {
	text, err := json.MarshalIndent(complete(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(text)
	if diff := cmp.Diff(complete(), got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := Parse([]byte(strings.Replace(string(text), `"schema"`, `"newer": {"a": 1}, "schema"`, 1))); err != nil {
		t.Errorf("a newer field: %v", err)
	}
}

func TestParse_says_where(t *testing.T) {
	indented, _ := json.MarshalIndent(complete(), "", "  ")
	text := string(indented)
	for name, row := range map[string]struct{ text, want string }{
		"empty":       {"", "it is empty"},
		"cut_off":     {text[:60], "line 5, column 7: it ends too early: it was cut off"},
		"a_page":      {"<html>", "line 1, column 1: it is no JSON: invalid character '<' looking for beginning of value"},
		"another":     {`{"a": 1}`, "it is no report of muster verify: it has no schema or no suites"},
		"a_list":      {`[1]`, "line 1, column 1: all of it is a array, and should be of another kind"},
		"newer":       {strings.Replace(text, `"schema": 1`, `"schema": 2`, 1), "its schema is 2, and this muster reads 1: it was written by another version"},
		"more":        {text + "\n{}", "there is more behind the report"},
		"verdict":     {strings.ReplaceAll(text, `"pass"`, `"`+strings.Repeat("fine", 20)+`"`), `suites[0].verdict: there is no verdict "finefinefinefinefinefinefinefinefinefine..."`},
		"pair":        {strings.Replace(text, `"b": 1`, `"b": 7`, 1), "suites[0].matrices[0].pairs[0]: it is about a node that the matrix has not"},
		"kind":        {strings.Replace(text, `"check": "pair"`, `"check": 7`, 1), "suites.results.check is a number, and should be of another kind"},
		"wrong_comma": {strings.Replace(text, `"schema": 1,`, `"schema": 1,,`, 1), "line 2, column 15: it is no JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse([]byte(row.text)); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	text, _ := json.Marshal(complete())
	f.Add(text)
	f.Add(text[:50])
	f.Add([]byte(`{"schema":1,"suites":[{"verdict":"pass","results":[{"verdict":"skip","value":null}]}],"verdict":"blind"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		d := Diff(r, r)
		if len(d.Worse)+len(d.Better)+len(d.Other)+len(d.New)+len(d.Gone)+len(d.Identity) > 0 {
			t.Errorf("a report differs from itself: %+v", d)
		}
	})
}
