package verify

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// measured is a report of one check that measured so much on each node.
func measured(unit string, numbers ...float64) Report {
	s := Suite{Name: Network, Verdict: Pass}
	var nodes []string
	for i, n := range numbers {
		nodes = append(nodes, fmt.Sprintf("n-%d", i+1))
		s.Results = append(s.Results, Result{Check: "rate", On: nodes[i], Verdict: Pass, Value: &Value{Number: n, Unit: unit, Lower: unit == "us" || unit == "s"}})
	}
	return Report{Nodes: nodes, Verdict: Pass, Suites: []Suite{s}}
}

func on(changes []Change) (all []string) {
	for _, c := range changes {
		all = append(all, c.On...)
	}
	return all
}

// A suite that proved something, and of which nobody sees anything now, is worse: its results are only gone.
func TestDiff_unseen(t *testing.T) {
	of := func(v Verdict, results ...Result) Report {
		return Report{Suites: []Suite{{Name: Network, Verdict: v, Results: results}}}
	}
	pair, cut := Result{Check: "network-pair", On: "a+b", Verdict: Pass}, Result{Check: Network, Verdict: Blind, Why: "the budget is spent"}
	for name, row := range map[string]struct {
		a, b  Report
		worse int
	}{
		"cut_off":           {of(Pass, pair), of(Blind, cut), 1},
		"without_results":   {of(Warn, pair), of(Blind), 1},
		"cut_off_before":    {of(Blind, cut), of(Blind, cut), 0},
		"did_not_apply":     {of(Skip), of(Blind, cut), 0},
		"told_by_a_result":  {of(Pass, pair), of(Blind, Result{Check: "network-pair", On: "a+b", Verdict: Blind}), 1},
		"seen_now":          {of(Blind, cut), of(Pass, pair), 0},
		"of_another_choice": {Report{}, of(Blind, cut), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if d := Diff(row.a, row.b); len(d.Worse) != row.worse {
				t.Errorf("%+v", d)
			}
		})
	}
}

func TestDiff_numbers(t *testing.T) {
	wide := []float64{80, 85, 90, 95, 100, 105, 110, 115, 120}
	scaled := func(all []float64, by float64) []float64 {
		got := slices.Clone(all)
		for i := range got {
			got[i] *= by
		}
		return got
	}
	for name, row := range map[string]struct {
		a, b          Report
		worse, better []string
	}{
		"within_the_margin":    {measured("GB/s", 100, 100), measured("GB/s", 96, 104), nil, nil},
		"less_bandwidth":       {measured("GB/s", 100, 100), measured("GB/s", 90, 110), []string{"n-1"}, []string{"n-2"}},
		"less_latency":         {measured("us", 20, 20), measured("us", 10, 40), []string{"n-2"}, []string{"n-1"}},
		"a_tiny_time":          {measured("s", 0.001), measured("s", 0.9), nil, nil},
		"a_long_time":          {measured("s", 10), measured("s", 30), []string{"n-1"}, nil},
		"a_wide_spread":        {measured("GB/s", wide...), measured("GB/s", append([]float64{60}, wide[1:]...)...), nil, nil},
		"all_of_a_wide_spread": {measured("GB/s", wide...), measured("GB/s", scaled(wide, 0.9)...), measured("", wide...).Nodes, nil},
		"from_nothing":         {measured("GB/s", 0), measured("GB/s", 1), nil, []string{"n-1"}},
		"another_unit":         {measured("GB/s", 1), measured("MB/s", 1000), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := Diff(row.a, row.b)
			if !slices.Equal(on(d.Worse), row.worse) || !slices.Equal(on(d.Better), row.better) {
				t.Errorf("worse %v, better %v", d.Worse, d.Better)
			}
			if _, err := json.Marshal(d); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDiff_verdicts(t *testing.T) {
	of := func(v Verdict) Report {
		return Report{Verdict: v, Suites: []Suite{{Name: GPU, Verdict: v, Results: []Result{{Check: "gpu-count", On: "n-1", Verdict: v}, {Check: "gpu-count", On: "n-2", Verdict: v}}}}}
	}
	for _, row := range []struct {
		a, b Verdict
		want string
	}{
		{Pass, Pass, "same"}, {Pass, Fail, "worse"}, {Pass, Blind, "worse"}, {Warn, Pass, "better"}, {Fail, Blind, "better"},
		{Pass, Skip, "other"}, {Skip, Fail, "worse"}, {Fail, Skip, "other"}, {Blind, Blind, "same"},
	} {
		d := Diff(of(row.a), of(row.b))
		got := map[string]int{"worse": len(d.Worse), "better": len(d.Better), "other": len(d.Other), "same": d.Same}
		if want := map[string]int{"worse": 0, "better": 0, "other": 0, "same": 0}; got[row.want] == 0 {
			t.Errorf("%s to %s: %v, want %v", row.a, row.b, got, want)
		}
	}
	d := Diff(of(Pass), of(Fail))
	if len(d.Worse) != 1 || !slices.Equal(d.Worse[0].On, []string{"n-1", "n-2"}) {
		t.Errorf("two nodes that fail alike are not one entry: %+v", d.Worse)
	}
}

func TestDiff_identity(t *testing.T) {
	a, b := complete(), complete()
	b.Identity.Muster, b.Nodes = "2", []string{"n-2", "n-3"}
	b.Identity.Versions = map[string]string{"nccl": "2.27"}
	b.Suites = append(b.Suites, Suite{Name: GPU, Verdict: Blind, Why: "no driver"})
	d := Diff(a, b)
	if len(d.Identity) != 2 || d.Identity[0] != (IdentityChange{What: "muster", A: "1", B: "2"}) || d.Identity[1].What != "version of nccl" {
		t.Errorf("identity: %+v", d.Identity)
	}
	if !slices.Equal(d.NodesGone, []string{"n-1"}) || !slices.Equal(d.NodesNew, []string{"n-3"}) {
		t.Errorf("nodes: %v %v", d.NodesGone, d.NodesNew)
	}
	if len(d.New) != 1 || d.New[0].Check != GPU || d.New[0].To != Blind || d.New[0].Why != "no driver" {
		t.Errorf("new: %+v", d.New)
	}
	if back := Diff(b, a); len(back.Gone) != 1 {
		t.Errorf("gone: %+v", back.Gone)
	}
}

// TestDiff_of_very_many_of_one has so many results of one check and place that each may be looked at but once.
func TestDiff_of_very_many_of_one(t *testing.T) {
	var r Report
	r.Suites = []Suite{{Name: Network, Results: make([]Result, 300_000)}}
	if d := Diff(r, r); d.Same != 300_000 {
		t.Errorf("%d are the same", d.Same)
	}
}

// TestDiff_can_be_written whatever was measured: JSON has no infinity.
func TestDiff_can_be_written(t *testing.T) {
	odd := []float64{0, -1e308, 5e-324, 1, 1e308}
	for _, n := range odd {
		for _, m := range odd {
			if _, err := json.Marshal(Diff(measured("GB/s", n), measured("GB/s", m))); err != nil {
				t.Errorf("%g and %g: %v", n, m, err)
			}
		}
	}
}

func FuzzDiff(f *testing.F) {
	text, _ := json.Marshal(complete())
	f.Add(text, text)
	f.Add([]byte(`{"schema":1,"verdict":"pass","suites":[{"name":"s","verdict":"pass","results":[{"verdict":"pass","value":{"number":1e-320}}]}]}`),
		[]byte(`{"schema":1,"verdict":"pass","suites":[{"name":"s","verdict":"pass","results":[{"verdict":"pass","value":{"number":1e308}}]}]}`))
	f.Fuzz(func(t *testing.T, x, y []byte) {
		a, err := Parse(x)
		if err != nil {
			return
		}
		b, err := Parse(y)
		if err != nil {
			return
		}
		if _, err := json.Marshal(Diff(a, b)); err != nil {
			t.Error(err)
		}
	})
}
