package stack_test

import (
	"testing"

	"github.com/muster-hpc/muster/internal/aws/stack"
	"github.com/muster-hpc/muster/internal/spec"
)

// TestEFADevices: as many as the launch template has of EFA's interfaces, whichever way
// they are made.
func TestEFADevices(t *testing.T) {
	for name, row := range map[string]struct {
		resource, settings, own string
		want                    int
	}{
		"none":       {"InstanceType: p5.48xlarge", "", "p5.48xlarge", 0},
		"efa_only":   {"InstanceType: p5.48xlarge, Efa: {Enabled: true}", "", "p5.48xlarge", 32},
		"old_way":    {"InstanceType: p5.48xlarge, Efa: {Enabled: true}", "DevSettings: {EfaInterfaceType: efa}\n", "p5.48xlarge", 32},
		"one_card":   {"InstanceType: c6i.32xlarge, Efa: {Enabled: true}", "", "c6i.32xlarge", 1},
		"plain_card": {"InstanceType: p6-b300.48xlarge, Efa: {Enabled: true}", "", "p6-b300.48xlarge", 16},
		"least":      {"Instances: [{InstanceType: p4d.24xlarge}, {InstanceType: p5.48xlarge}], Efa: {Enabled: true}", "", "p5.48xlarge", 4},
		"block":      {"CapacityReservationTarget: {CapacityReservationId: cr-1}, Efa: {Enabled: true}", "", "p5en.48xlarge", 16},
	} {
		t.Run(name, func(t *testing.T) {
			text := "Scheduling:\n  SlurmQueues:\n    - Name: q\n      ComputeResources: [{Name: r, " + row.resource + "}]\n" + row.settings
			c := spec.OpenText("cluster.yaml", []byte(text), spec.Options{}).Model()
			if got := stack.EFADevices(c, c.Scheduling.Queues[0].ComputeResources[0], row.own); got != row.want {
				t.Errorf("got %d, want %d", got, row.want)
			}
		})
	}
}
