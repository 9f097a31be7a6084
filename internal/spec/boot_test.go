package spec_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/spec"
)

// booted is the model of a file whose queue has the lines below.
func booted(t *testing.T, head, queue string) *spec.Cluster {
	t.Helper()
	c, problems := spec.Parse("cluster.yaml", []byte(`Image: {Os: alinux2023}
HeadNode:
  InstanceType: c5.large
`+head+`Scheduling:
  Scheduler: slurm
  SlurmQueues:
    - Name: gpu
`+queue))
	if c == nil {
		t.Fatal(text(t, problems))
	}
	return c
}

func TestCustomActions_have_both_forms(t *testing.T) {
	c := booted(t, `  CustomActions:
    OnNodeStart: {Script: "s3://b/one", Args: [a]}
    OnNodeConfigured:
      Sequence:
        - {Script: "s3://b/two", Args: [b, c]}
        - Script: https://example.com/three
`, `      ComputeResources: [{Name: a, InstanceType: c5.large}]
`)
	want := spec.CustomActions{
		spec.OnNodeStart:      {{URL: "s3://b/one", Args: []string{"a"}}},
		spec.OnNodeConfigured: {{URL: "s3://b/two", Args: []string{"b", "c"}}, {URL: "https://example.com/three"}},
	}
	if diff := cmp.Diff(want, c.HeadNode.CustomActions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := c.Scheduling.Queues[0].CustomActions; got != nil {
		t.Errorf("a queue without scripts has %v", got)
	}
}

// TestCheckGPUs: what a compute resource says goes before what its queue says.
func TestCheckGPUs(t *testing.T) {
	c := booted(t, "", `      HealthChecks: {Gpu: {Enabled: true}}
      ComputeResources:
        - {Name: a, InstanceType: p5.48xlarge}
        - {Name: b, InstanceType: p5.48xlarge, HealthChecks: {Gpu: {Enabled: false}}}
`)
	if r := c.Scheduling.Queues[0].ComputeResources; !r[0].CheckGPUs || r[1].CheckGPUs {
		t.Errorf("a: %v, b: %v", r[0].CheckGPUs, r[1].CheckGPUs)
	}
}
