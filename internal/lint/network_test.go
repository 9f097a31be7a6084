package lint_test

import (
	"slices"
	"testing"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/lint"
	"github.com/muster-hpc/muster/internal/spec"
)

// TestPublicAddress_of_levels holds that one network card with EFA has a public
// address before 3.16, when it became two interfaces.
func TestPublicAddress_of_levels(t *testing.T) {
	queue := "Scheduling.SlurmQueues[1]"
	document := func(instanceType string) []byte {
		return fixture{changes: []change{
			{queue + ".Networking.AssignPublicIp", "true"}, {queue + ".ComputeResources[0].Efa", "{Enabled: true}"},
			{queue + ".ComputeResources[0].InstanceType", instanceType},
		}}.document(t)
	}
	for _, row := range []struct {
		name, instanceType, level string
		want                      bool
	}{
		{"one_card_now", "c5n.18xlarge", "3.16", true},
		{"one_card_before", "c5n.18xlarge", "3.15", false},
		{"two_cards_before", "c6in.32xlarge", "3.11", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			level, err := spec.ParseLevel(row.level)
			if err != nil {
				t.Fatal(err)
			}
			f := spec.OpenText("cluster.yaml", document(row.instanceType), spec.Options{AWS: true, Level: level})
			lint.Cluster(f)
			got := slices.ContainsFunc(f.Problems.All(), func(d diag.Diagnostic) bool { return d.Code == "network/public-address" })
			if got != row.want {
				t.Errorf("found %v, want %v", got, row.want)
			}
		})
	}
}
