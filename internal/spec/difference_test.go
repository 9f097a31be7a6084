package spec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/spec"
)

const differenceBase = `Image: {Os: alinux2023}
HeadNode: {InstanceType: c5.large}
Scheduling:
  Scheduler: slurm
  SlurmQueues:
    - Name: a
      ComputeResources:
        - {Name: x, InstanceType: c5.large, MinCount: 0, MaxCount: 4}
    - Name: b
      ComputeResources:
        - {Name: y, InstanceType: c5.large}
`

func TestDifferences(t *testing.T) {
	for _, row := range []struct {
		name, from, to string
		want           []string
	}{
		{"none", "", "", nil},
		{"default_written_out", "MinCount: 0, ", "", nil},
		{"value", "MaxCount: 4", "MaxCount: 8", []string{"Scheduling.SlurmQueues[a].ComputeResources[x].MaxCount: 4 -> 8"}},
		{"head_node", "HeadNode: {InstanceType: c5.large}", "HeadNode: {InstanceType: c5.xlarge}", []string{"HeadNode.InstanceType: c5.large -> c5.xlarge"}},
		{"queue_renamed", "Name: b", "Name: c", []string{"Scheduling.SlurmQueues[c]:  -> c", "Scheduling.SlurmQueues[b]: b -> "}},
		{"truth_in_other_words", "MaxCount: 4}", "MaxCount: 4, DisableSimultaneousMultithreading: False}", nil},
		{"list_of_texts", "- Name: a\n", "- Name: a\n      Networking: {SubnetIds: [subnet-1, subnet-2]}\n", []string{"Scheduling.SlurmQueues[a].Networking.SubnetIds:  -> [subnet-1, subnet-2]"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := spec.OpenText("old.yaml", []byte(differenceBase), spec.Options{})
			after := spec.OpenText("new.yaml", []byte(strings.Replace(differenceBase, row.from, row.to, 1)), spec.Options{})
			var got []string
			for _, d := range spec.Differences(before, after) {
				got = append(got, d.Path+": "+d.Old+" -> "+d.New)
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
