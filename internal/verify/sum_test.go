package verify

import "testing"

func TestSum(t *testing.T) {
	of := func(all ...Verdict) (results []Result) {
		for _, v := range all {
			results = append(results, Result{Verdict: v})
		}
		return results
	}
	for _, c := range []struct {
		results []Result
		want    Verdict
	}{
		{nil, Blind}, {of(Pass), Pass}, {of(Pass, Skip), Pass}, {of(Skip), Skip}, {of(Pass, Warn), Warn},
		{of(Warn, Blind), Blind}, {of(Blind, Fail, Pass), Fail}, {[]Result{{Verdict: Pass}, {Verdict: Blind, Required: true}}, Fail},
		{[]Result{{Verdict: "odd"}}, Blind},
	} {
		if got := Sum(c.results); got != c.want {
			t.Errorf("%v: %s, want %s", c.results, got, c.want)
		}
	}
}

// TestClose takes a report that was cut off for blind, unless something failed before.
func TestClose(t *testing.T) {
	r := Report{Suites: []Suite{{Results: []Result{{Verdict: Pass}, {Verdict: Skip}}}, {Verdict: Skip}}}
	if r.Close(); r.Verdict != Pass || r.Suites[0].Verdict != Pass || r.Counts[Pass] != 1 || r.Counts[Skip] != 1 {
		t.Errorf("got %+v", r)
	}
	r.Error = "stopped"
	if r.Close(); r.Verdict != Blind {
		t.Errorf("cut off: %s", r.Verdict)
	}
	r.Suites = append(r.Suites, Suite{Results: []Result{{Verdict: Fail}}})
	if r.Close(); r.Verdict != Fail {
		t.Errorf("cut off and failed: %s", r.Verdict)
	}
}
