package plan_test

import (
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/spec"
)

const changeBase = `Image: {Os: alinux2023}
HeadNode: {InstanceType: c5.large}
Scheduling:
  Scheduler: slurm
  SlurmSettings: {}
  SlurmQueues:
    - Name: a
      Networking: {SubnetIds: [subnet-1]}
      ComputeResources:
        - {Name: x, InstanceType: c5.large, MinCount: 1, MaxCount: 4}
SharedStorage:
  - {Name: fs, MountDir: /fs, StorageType: Ebs}
`

func TestChanges(t *testing.T) {
	for _, row := range []struct {
		name, from, to string
		path           string
		want           plan.Need
	}{
		{"larger", "MaxCount: 4", "MaxCount: 8", "Scheduling.SlurmQueues[a].ComputeResources[x].MaxCount", plan.Nothing},
		{"smaller", "MaxCount: 4", "MaxCount: 2", "Scheduling.SlurmQueues[a].ComputeResources[x].MaxCount", plan.Stopped},
		{"more_static_alone", "MinCount: 1", "MinCount: 2", "Scheduling.SlurmQueues[a].ComputeResources[x].MinCount", plan.Stopped},
		{"more_static_with_room", "MinCount: 1, MaxCount: 4", "MinCount: 2, MaxCount: 5", "Scheduling.SlurmQueues[a].ComputeResources[x].MinCount", plan.Nothing},
		{"smaller_and_terminate", "SlurmSettings: {}", "SlurmSettings: {QueueUpdateStrategy: TERMINATE}", "Scheduling.SlurmSettings.QueueUpdateStrategy", plan.Nothing},
		{"head_node", "HeadNode: {InstanceType: c5.large}", "HeadNode: {InstanceType: c5.xlarge}", "HeadNode.InstanceType", plan.Never},
		{"capacity", "- Name: a\n", "- Name: a\n      CapacityType: SPOT\n", "Scheduling.SlurmQueues[a].CapacityType", plan.Stopped},
		{"more_subnets", "[subnet-1]", "[subnet-1, subnet-2]", "Scheduling.SlurmQueues[a].Networking.SubnetIds", plan.Nothing},
		{"other_subnets", "[subnet-1]", "[subnet-2]", "Scheduling.SlurmQueues[a].Networking.SubnetIds", plan.Stopped},
		{"volume_removed", "  - {Name: fs, MountDir: /fs, StorageType: Ebs}\n", "  - {Name: x, MountDir: /x, StorageType: Efs, EfsSettings: {FileSystemId: fs-1}}\n", "SharedStorage[fs]", plan.Stopped},
		{"capacity_while_nodes_drain", "- Name: a\n", "- Name: a\n      CapacityType: SPOT\n", "Scheduling.SlurmQueues[a].CapacityType", plan.Replaced},
		{"smaller_while_nodes_drain", "MaxCount: 4", "MaxCount: 2", "Scheduling.SlurmQueues[a].ComputeResources[x].MaxCount", plan.Stopped},
		{"volume_removed_while_nodes_drain", "  - {Name: fs, MountDir: /fs, StorageType: Ebs}\n", "", "SharedStorage[fs]", plan.Replaced},
		{"efs_mounted", "SharedStorage:\n", "SharedStorage:\n  - {Name: x, MountDir: /x, StorageType: Efs, EfsSettings: {FileSystemId: fs-1}}\n", "SharedStorage[x]", plan.Nothing},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := changeBase
			if strings.HasSuffix(row.name, "_while_nodes_drain") {
				before = strings.Replace(before, "SlurmSettings: {}", "SlurmSettings: {QueueUpdateStrategy: DRAIN}", 1)
			}
			after := strings.Replace(before, row.from, row.to, 1)
			if after == before {
				t.Fatal("nothing was changed")
			}
			all := plan.Changes(spec.OpenText("old.yaml", []byte(before), spec.Options{}), spec.OpenText("new.yaml", []byte(after), spec.Options{}))
			for _, c := range all {
				if c.Path != row.path {
					continue
				}
				if c.Need != row.want {
					t.Errorf("%s needs %s, want %s", c.Path, c.Need, row.want)
				}
				if (c.Instead == "") != (c.Need == plan.Nothing || c.Need == plan.Replaced) {
					t.Errorf("%s needs %s, and what to do instead is %q", c.Path, c.Need, c.Instead)
				}
				return
			}
			t.Errorf("no change of %s in %+v", row.path, all)
		})
	}
}
