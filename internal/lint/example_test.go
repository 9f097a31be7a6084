package lint_test

import (
	"fmt"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/lint"
	"github.com/muster-hpc/muster/internal/spec"
)

// Rules add to a file's problems what its schema cannot say.
func ExampleCluster() {
	text := `Region: us-east-1
Image:
  Os: ubuntu2204
HeadNode:
  InstanceType: c6i.xlarge
  Networking:
    SubnetId: subnet-0123456789abcdef0
Scheduling:
  Scheduler: slurm
  SlurmQueues:
    - Name: gpu
      Networking:
        SubnetIds: [subnet-0123456789abcdef0]
      ComputeResources:
        - Name: small
          InstanceType: c6i.large
          Efa:
            Enabled: true
`
	f := spec.OpenText("cluster.yaml", []byte(text), spec.Options{AWS: true})
	lint.Cluster(f)
	for _, d := range f.Problems.All() {
		if d.Severity == diag.Error {
			fmt.Printf("line %d: %s [%s]\n", d.Line, d.Message, d.Code)
		}
	}
	// Output:
	// line 18: c6i.large has no EFA [efa/unsupported]
	// line 18: queue gpu does not say whether its nodes with EFA are in a placement group [efa/placement]
}
