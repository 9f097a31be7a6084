package spec_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
)

const small = `Region: us-east-1
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
        - Name: p5
          InstanceType: p5.48xlarge
          MaxCount: 4
`

// A cluster file becomes values; what it leaves out has its default.
func ExampleParse() {
	c, problems := spec.Parse("cluster.yaml", []byte(small))
	fmt.Println(problems.Count(diag.Error), "errors")
	for _, q := range c.Scheduling.Queues {
		for _, r := range q.ComputeResources {
			fmt.Println(q.Name, r.Name, r.MinCount, r.MaxCount)
		}
	}
	// Output:
	// 0 errors
	// gpu p5 0 4
}

// All problems come at once, each with its place.
func ExampleParse_problems() {
	text := strings.Replace(small, "MaxCount: 4", "MaxCount: four", 1)
	_, problems := spec.Parse("cluster.yaml", []byte(strings.Replace(text, "HeadNode:", "Headnode:", 1)))
	_ = diag.WriteText(os.Stdout, problems, false)
	// Output:
	// cluster.yaml:4:1: error: "Headnode" is not a key of the file's top level [schema/unknown]
	//     Headnode:
	//     ^
	//   hint: did you mean HeadNode?
	// cluster.yaml:17:21: error: MaxCount must be a whole number, not "four" [schema/type]
	//               MaxCount: four
	//                         ^
}

// Rules look at a file as it is written, by the paths of its keys.
func ExampleView_At() {
	f := spec.OpenText("cluster.yaml", []byte(small), spec.Options{})
	root, _ := f.Root()
	fmt.Println(root.At("HeadNode.InstanceType").Text(), root.At("HeadNode.Dcv.Enabled").Present())
	// Output: c6i.xlarge false
}
