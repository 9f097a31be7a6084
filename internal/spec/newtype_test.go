package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
)

// TestUnknownTypes holds that a type which may just be newer than the list is nothing
// that is judged where AWS takes the file, and that a misspelt one is an error.
func TestUnknownTypes(t *testing.T) {
	const file = `
Region: us-east-1
Image: {Os: alinux2023}
HeadNode: {InstanceType: c6i.large, Networking: {SubnetId: subnet-0123456789abcdef0}}
Scheduling:
  Scheduler: slurm
  SlurmQueues:
    - Name: q
      Networking: {SubnetIds: [subnet-0123456789abcdef0]}
      ComputeResources: [{Name: r, InstanceType: %s}]
`
	for name, want := range map[string]diag.Severity{
		"p7.48xlarge": diag.Blind, "zz9n-k1.metal-48xl": diag.Blind,
		"p5e.48xlrge": diag.Error, "hal9000": diag.Error, "p7.huge": diag.Error, "P7.48xlarge": diag.Error, "p7.48xlarge.x": diag.Error,
	} {
		text := fmt.Appendf(nil, file, name)
		got := problem(t, spec.OpenText("c.yaml", text, spec.Options{AWS: true}))
		if got.Severity != want || want == diag.Blind && !strings.HasSuffix(got.Message, "is not in the list of 2026-07-20") {
			t.Errorf("%s for AWS: %s: %s", name, got.Severity, got.Message)
		}
		if got := problem(t, spec.OpenText("c.yaml", text, spec.Options{})); got.Severity != diag.Error {
			t.Errorf("%s elsewhere: %s: %s", name, got.Severity, got.Message)
		}
	}
}

// problem is the one about an instance type that a file has, which makes no cluster.
func problem(t *testing.T, f *spec.File) diag.Diagnostic {
	t.Helper()
	if f.Cluster != nil {
		t.Error("it makes a cluster")
	}
	for _, p := range f.Problems.All() {
		if p.Code == "instance/unknown" {
			return p
		}
	}
	t.Errorf("there is no problem with the instance type: %v", f.Problems.Err())
	return diag.Diagnostic{}
}
