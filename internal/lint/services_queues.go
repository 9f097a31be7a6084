package lint

import "github.com/muster-hpc/muster/internal/spec"

// emptyQueues finds clusters and queues without nodes. ParallelCluster has no
// words of its own for them: its validators break on a file without queues, and
// on a first queue without compute resources.
func emptyQueues(root spec.View) {
	queues := root.At("Scheduling.SlurmQueues")
	if queues.Given() && len(queues.Items()) == 0 {
		queues.Errorf("queue/none", "the cluster has no queue").
			WithHint("add a queue with a Name and ComputeResources")
	}
	for i, q := range queues.Items() {
		resources := q.Key("ComputeResources")
		switch {
		case !resources.Given() || len(resources.Items()) > 0:
		case i == 0:
			resources.Errorf("queue/empty", "the first queue has no compute resource, and ParallelCluster refuses the file").
				WithHint("add a compute resource, or remove the queue")
		default:
			resources.Warnf("queue/empty", "the queue has no compute resource, so that no job in it ever starts").
				WithHint("add a compute resource, or remove the queue")
		}
	}
}
