package lint_test

import (
	"os"
	"slices"
	"testing"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/lint"
	"github.com/muster-hpc/muster/internal/spec"
)

const guide = "../spec/testdata/bad/guide.yaml"

// TestGuide holds that a field guide's file comes out with everything that is
// wrong with it in one round, each at its line.
func TestGuide(t *testing.T) {
	data, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	f := spec.OpenText("guide.yaml", data, spec.Options{AWS: true})
	lint.Cluster(f)
	f.Finish()
	all := f.Problems.All()
	for _, row := range []struct {
		defect, code string
		line         int
	}{
		{"queues_outside_of_scheduling", "schema/unknown", 24},
		{"policies_at_the_top", "schema/unknown", 64},
		{"no_such_deployment_type", "schema/value", 73},
		{"no_such_deployment_type", "schema/value", 82},
		{"no_such_deployment_type", "schema/value", 91},
		{"placeholders_of_ids", "file/template", 10},
		{"placeholder_of_the_reservation", "capacity/reservation-id", 57},
		{"three_new_lustre_file_systems", "storage/count", 79},
		{"security_groups_replace_the_managed_ones", "network/mixed-security-groups", 41},
		{"a_capacity_block_in_an_on_demand_queue", "capacity/block-on-demand", 56},
		{"a_script_that_nodes_cannot_read", "actions/no-access", 61},
		{"a_placement_group_beside_a_reservation", "capacity/placement-group", 40},
		{"detailed_monitoring_costs", "monitoring/detailed", 96},
		{"file_systems_that_go_with_the_cluster", "storage/deletion", 71},
		{"checkpoints_that_go_with_the_cluster", "storage/results-deleted", 80},
		{"a_strategy_that_nothing_reads", "capacity/strategy-ignored", 27},
		{"partial_scaling", "capacity/partial-scaling", 19},
		{"reserved_nodes_that_go", "capacity/reserved-idle", 51},
		{"a_slow_check_before_each_job", "practice/gpu-health-check", 46},
		{"an_operating_system_that_is_gone", "schema/level", 5},
		{"types_are_not_sold_everywhere", "aws/instance-type", 8},
		{"addresses_of_the_subnet", "network/addresses", 37},
		{"quota_of_cpus", "aws/quota", 17},
		{"ssh_for_everybody", "network/ssh-open", 11},
		{"a_script_before_the_mounts", "actions/before-mounts", 60},
		{"a_fast_root_volume_beside_fast_disks", "practice/root-volume", 33},
		{"nodes_are_shared_without_limits", "practice/shared-memory", 25},
		{"sockets_are_not_told", "practice/sockets", 50},
		{"no_accounting", "practice/no-accounting", 20},
		{"a_small_root_volume_for_home", "head/root-size", 8},
	} {
		t.Run(row.defect, func(t *testing.T) {
			if !slices.ContainsFunc(all, func(d diag.Diagnostic) bool { return d.Code == row.code && d.Line == row.line }) {
				t.Errorf("no %s in line %d", row.code, row.line)
			}
		})
	}
	if t.Failed() {
		for _, d := range all {
			t.Logf("%d %s %s %s", d.Line, d.Severity, d.Code, d.Message)
		}
	}
}
