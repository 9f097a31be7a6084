package lint_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/aws/inventory"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/lint"
	"github.com/muster-hpc/muster/internal/spec"
)

func TestExports(t *testing.T) {
	w := &spec.Workload{Buckets: []string{"made"}, Exports: []spec.Export{
		{Bucket: "made"}, {Bucket: "there"}, {Bucket: "gone", Place: diag.Place{File: "muster.yaml", Line: 4, Path: "Exports[2].Bucket"}}, {Bucket: "hidden"},
	}}
	asked := inventory.Wanted{Names: map[string][]string{"aws/bucket": {"there"}}}
	lint.WantExports(asked, w)
	if diff := cmp.Diff([]string{"there", "gone", "hidden"}, asked.Names["aws/bucket"]); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	inv := inventory.Inventory{
		Account: "1", Buckets: map[string]inventory.Bucket{"there": {}}, Hidden: map[string]map[string]string{"aws/bucket": {"hidden": "no right"}},
	}
	var got []string
	for _, p := range lint.Exports(w, inv).All() {
		got = append(got, p.Place.File+" "+p.Severity.String()+": "+p.Message)
	}
	want := []string{
		" blind: bucket hidden is not looked up: no right",
		"muster.yaml error: bucket gone does not exist, or account 1 may not see it",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	inv.Unasked = map[string]string{"aws/bucket": "S3 does not answer"}
	if all := lint.Exports(w, inv).All(); len(all) != 2 || all[0].Severity != diag.Blind {
		t.Errorf("of S3 that does not answer it says %v", all)
	}
	if lint.Exports(nil, inv).Len() != 0 {
		t.Error("there are problems without a muster.yaml")
	}
}
