package cli

import (
	"slices"
	"testing"

	"github.com/muster-hpc/muster/internal/verify"
)

// TestDiffReports_nodes has reports of other nodes: what is about all nodes of each is compared, and what is about one node is not.
func TestDiffReports_nodes(t *testing.T) {
	of := func(verdict verify.Verdict, all string, nodes ...string) verify.Report {
		results := []verify.Result{{Check: "nodes-came", On: all, Verdict: verdict}}
		for _, n := range nodes {
			results = append(results, verify.Result{Check: "clock", On: n, Verdict: verify.Pass})
		}
		return verify.Report{Nodes: nodes, Suites: []verify.Suite{{Name: verify.Basic, Verdict: verdict, Results: results}}}
	}
	for _, row := range []struct {
		name             string
		a, b             verify.Report
		gone, new, worse int
		same             int
		worseOn          []string
	}{
		{"same_nodes", of(verify.Pass, "n-[1-2]", "n-1", "n-2"), of(verify.Pass, "n-[1-2]", "n-1", "n-2"), 0, 0, 0, 3, nil},
		{"same_nodes_worse", of(verify.Pass, "n-[1-2]", "n-1", "n-2"), of(verify.Fail, "n-[1-2]", "n-1", "n-2"), 0, 0, 1, 2, []string{"n-[1-2]"}},
		{"one_node_more", of(verify.Pass, "n-[1-2]", "n-1", "n-2"), of(verify.Pass, "n-[1-3]", "n-1", "n-2", "n-3"), 0, 1, 0, 3, nil},
		{"other_nodes", of(verify.Pass, "n-[1-2]", "n-1", "n-2"), of(verify.Pass, "n-[3-4]", "n-3", "n-4"), 1, 1, 0, 1, nil},
		{"other_nodes_worse", of(verify.Pass, "n-[1-2]", "n-1", "n-2"), of(verify.Fail, "n-[3-4]", "n-3", "n-4"), 1, 1, 1, 0, []string{}},
		{"one_other_node", of(verify.Pass, "n-1", "n-1"), of(verify.Pass, "n-2", "n-2"), 2, 2, 0, 0, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := row.a.Suites[0].Results[0].On
			d := diffReports(row.a, row.b)
			if len(d.Gone) != row.gone || len(d.New) != row.new || len(d.Worse) != row.worse || d.Same != row.same {
				t.Errorf("%d gone, %d new, %d worse, %d same: %+v", len(d.Gone), len(d.New), len(d.Worse), d.Same, d)
			}
			if row.worse > 0 && !slices.Equal(d.Worse[0].On, row.worseOn) {
				t.Errorf("worse on %v, want %v", d.Worse[0].On, row.worseOn)
			}
			if row.a.Suites[0].Results[0].On != before {
				t.Error("the report itself was changed")
			}
		})
	}
}
