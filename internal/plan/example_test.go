package plan_test

import (
	"fmt"

	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// Nodes have the names that ParallelCluster would give them.
func ExampleNodeNames() {
	c := &spec.Cluster{Scheduling: spec.Scheduling{Queues: []spec.Queue{{
		Name: "gpu", ComputeResources: []spec.ComputeResource{{Name: "p5", MinCount: 2, MaxCount: 5}},
	}}}}
	fmt.Println(slurm.Compress(plan.NodeNames(c)))
	// Output: gpu-dy-p5-[1-3],gpu-st-p5-[1-2]
}

// How often to write a checkpoint follows from how long that takes and how often GPUs fail.
func ExampleInterval() {
	mtbf := plan.MTBF(640)
	seconds, formula := plan.Interval(30, 3600*mtbf)
	fmt.Printf("a failure each %.0f hours: a checkpoint each %.0f minutes (%s)\n", mtbf, seconds/60, formula)
	// Output: a failure each 79 hours: a checkpoint each 69 minutes (Young)
}
