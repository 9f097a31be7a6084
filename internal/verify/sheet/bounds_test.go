package sheet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/verify"
)

// suites are as many as a page shows, each with the same.
func suites(one verify.Suite) (r verify.Report) {
	for i := range mostSuites {
		if one.Name = verify.Storage; i%2 == 1 {
			one.Name = fmt.Sprint("suite", i)
		}
		r.Suites = append(r.Suites, one)
	}
	return r
}

func curves() (all []verify.Series) {
	points := make([]verify.Point, 5000)
	for i := range points {
		points[i] = verify.Point{X: float64(i + 1), Y: float64(i + 1)}
	}
	for i := range 200 {
		all = append(all, verify.Series{Name: fmt.Sprint(i / mostCurves), XUnit: "B", Points: points})
	}
	return all
}

// between is a matrix of all pairs of nodes, with names that end in a text.
func between(nodes int, text string) (m verify.Matrix) {
	for i := range nodes {
		m.Nodes = append(m.Nodes, fmt.Sprint(i, text))
		for j := range nodes {
			m.Pairs = append(m.Pairs, verify.Pair{A: i, B: j, Value: float64(i*j + 1)})
		}
	}
	return m
}

func loud(text string) (all []verify.Result) {
	for i := range 3000 {
		all = append(all, verify.Result{
			Check: fmt.Sprint(i, text), On: text, Found: text, Want: text, Why: text, Hint: text, Source: text, Verdict: verify.Fail,
			Value: &verify.Value{Number: float64(i), Unit: fmt.Sprint(i % 10)},
		})
	}
	return all
}

// TestHTML_has_room_for_so_much: whatever there is very much of, a page has little of it, and says so.
func TestHTML_has_room_for_so_much(t *testing.T) {
	quotes := strings.Repeat(`"`, 2*mostText)
	for name, row := range map[string]struct {
		r    verify.Report
		says string
	}{
		"curves":        {suites(verify.Suite{Series: curves()}), "There is no room for all plots here"},
		"pairs":         {suites(verify.Suite{Matrices: []verify.Matrix{between(200, ""), between(200, ""), between(200, "")}}), "There is no room for all plots here"},
		"names_of_node": {suites(verify.Suite{Matrices: []verify.Matrix{between(wordyNodes, quotes)}}), "There is no room for all plots here"},
		"matrices":      {suites(verify.Suite{Matrices: make([]verify.Matrix, 1000)}), "There is no room for all plots here"},
		"words":         {suites(verify.Suite{Results: loud(quotes)}), "rows more are left out here"},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := HTML(row.r, options())
			if err != nil {
				t.Fatal(err)
			}
			if most := 10 << 20; len(text) > most {
				t.Errorf("%d bytes, more than %d", len(text), most)
			}
			if !strings.Contains(string(text), row.says) {
				t.Errorf("it does not say %q", row.says)
			}
		})
	}
}

// TestHTML_of_numbers_that_nobody_measures: what has no place is not drawn.
func TestHTML_of_numbers_that_nobody_measures(t *testing.T) {
	odd := []float64{0, -1, 1e-320, 1e-300, 1e-10, 1, 1e17, 1e308}
	for _, n := range odd {
		for _, m := range odd {
			s := verify.Suite{Name: verify.Storage, Seconds: n, Results: []verify.Result{{Value: &verify.Value{Number: n, Expected: m}}, {Value: &verify.Value{Number: m}}}}
			for _, unit := range []string{"B", "nodes"} {
				s.Series = append(s.Series, verify.Series{Name: unit, XUnit: unit, Expected: m, Points: []verify.Point{{X: n, Y: m}, {X: m, Y: n}, {X: 1, Y: n}}})
			}
			s.Matrices = []verify.Matrix{{Nodes: []string{"a", "b"}, Pairs: []verify.Pair{{A: 0, B: 1, Value: n}, {Value: m}, {Value: m}, {A: 9, B: -9, Value: 1}}}}
			text, err := HTML(verify.Report{Suites: []verify.Suite{s}}, options())
			if err != nil {
				t.Fatal(err)
			}
			numbers(t, text)
			if strings.Contains(string(text), "NaN") || strings.Contains(string(text), "Inf") {
				t.Errorf("%g and %g: a number of the page is none", n, m)
			}
		}
	}
}
