package sbatch

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/job/jobfile"
)

// shape is what a job takes of the cluster, and how it is divided.
type shape struct {
	queue batch.Queue
	// node is what each of its nodes is.
	node  batch.Resource
	nodes int
	// spares are more nodes, which take the place of those that die.
	spares int
	// whole says that the job has its nodes for itself.
	whole bool
	// gpus, ranks and tasks are those of a node, cpus those of a task. memoryMiB is what the
	// job asks for on a part of a node, 0 for nothing.
	gpus, ranks, tasks, cpus, memoryMiB int
	// constraint are the features that the nodes need.
	constraint string
}

// shapeOf divides the cluster. It is false where nothing fits, and the list says why.
func shapeOf(j *jobfile.Job, f *batch.Facts, list *diag.List) (shape, bool) {
	s := shape{nodes: max(j.Nodes, 1), spares: j.Spares, whole: j.GPUs == 0, constraint: j.Constraint}
	var ok bool
	if s.queue, ok = queueOf(j, f, list); !ok {
		return s, false
	}
	if s.node, ok = s.nodeOf(j, list); !ok {
		return s, false
	}
	s.gpus = s.node.GPUs
	cpus := s.node.CPUs
	if !s.whole {
		s.gpus = j.GPUs
		cpus = max(1, cpus*s.gpus/s.node.GPUs)
		if f.MemoryScheduling {
			s.memoryMiB = s.node.MemoryMiB * s.gpus / s.node.GPUs
		}
	}
	s.ranks = j.Ranks
	if s.ranks == 0 {
		s.ranks = max(s.gpus, 1)
	}
	s.tasks = s.ranks
	if perNode(j.Launcher) {
		s.tasks = 1
	}
	s.cpus = max(1, cpus/s.tasks)
	return s, s.fits(j, list)
}

// queueOf is where the job runs: the queue that it names, or the first one with GPUs, or the first.
func queueOf(j *jobfile.Job, f *batch.Facts, list *diag.List) (batch.Queue, bool) {
	var names []string
	for _, q := range f.Queues {
		names = append(names, q.Name)
		if q.Name == j.Queue {
			return q, true
		}
	}
	switch {
	case len(f.Queues) == 0:
		list.Errorf("job/queue", "Queue", "the cluster has no queue")
		return batch.Queue{}, false
	case j.Queue == "":
		withGPUs := func(q batch.Queue) bool {
			return slices.ContainsFunc(q.Resources, func(r batch.Resource) bool { return r.GPUs > 0 })
		}
		return f.Queues[max(0, slices.IndexFunc(f.Queues, withGPUs))], true
	}
	d := list.Errorf("job/queue", "Queue", "there is no queue %q", j.Queue)
	if near := diag.Nearest(j.Queue, names); near != "" {
		d.WithHint("did you mean %s?", near)
	} else {
		d.WithHint("the cluster has %s", strings.Join(names, ", "))
	}
	return batch.Queue{}, false
}

// nodeOf is the kind of nodes that the job runs on. Where the queue has several, it is the one
// with the most GPUs, and then CPUs, of those of which there are enough; the job then asks for it.
func (s *shape) nodeOf(j *jobfile.Job, list *diag.List) (batch.Resource, bool) {
	fitting := slices.Clone(s.queue.Resources)
	if j.Constraint != "" {
		fitting = slices.DeleteFunc(fitting, func(r batch.Resource) bool { return !hasFeature(r, j.Constraint) })
	}
	if len(fitting) == 0 { // what the constraint means is Slurm's
		fitting = slices.Clone(s.queue.Resources)
	}
	if len(fitting) == 0 {
		list.Errorf("job/queue", "Queue", "nothing is known of the nodes of queue %s", s.queue.Name)
		return batch.Resource{}, false
	}
	best := slices.MaxFunc(fitting, func(a, b batch.Resource) int {
		enough := func(r batch.Resource) int {
			if r.Count >= s.nodes+s.spares {
				return 1
			}
			return 0
		}
		if d := enough(a) - enough(b); d != 0 {
			return d
		}
		if d := a.GPUs - b.GPUs; d != 0 {
			return d
		}
		return a.CPUs - b.CPUs
	})
	different := func(r batch.Resource) bool { return r.CPUs != best.CPUs || r.GPUs != best.GPUs || r.GPU != best.GPU }
	if j.Constraint == "" && slices.ContainsFunc(s.queue.Resources, different) {
		s.constraint = best.Name
	}
	return best, true
}

// hasFeature reports whether nodes have a feature, as far as it is known: those of
// ParallelCluster are the compute resource and the instance type.
func hasFeature(r batch.Resource, feature string) bool {
	return r.Name == feature || slices.Contains(r.InstanceTypes, feature) ||
		slices.ContainsFunc(r.Kinds, func(k batch.Kind) bool { return slices.Contains(k.Features, feature) })
}

// fits reports what of the job does not fit the nodes. How many there are is for the check
// of the script.
func (s *shape) fits(j *jobfile.Job, list *diag.List) bool {
	switch {
	case !s.whole && s.node.GPUs == 0:
		list.Errorf("job/share", "GPUs", "GPUs is %d, and the nodes of queue %s have none", j.GPUs, s.queue.Name).
			WithHint("give Nodes, or a Queue with GPUs")
	case j.GPUs > s.node.GPUs && !s.whole:
		list.Errorf("job/share", "GPUs", "GPUs is %d, and a node of queue %s has %d", j.GPUs, s.queue.Name, s.node.GPUs).
			WithHint("GPUs is for a part of one node; give Nodes for more")
	case !s.whole && s.queue.Exclusive:
		list.Warnf("job/share", "GPUs", "queue %s gives each job whole nodes, and the GPUs that this one leaves stay idle", s.queue.Name).
			WithHint("JobExclusiveAllocation: false in the cluster file, or Nodes: 1")
	case j.Launcher == jobfile.Accelerate && s.gpus == 0:
		list.Errorf("job/launcher", "Launcher", "accelerate is for nodes with GPUs, and those of queue %s have none", s.queue.Name).
			WithHint("Launcher: torchrun starts the same program")
	}
	s.spared(j, list)
	return !list.HasErrors()
}

// shareable reports whether other jobs may run on the job's nodes.
func (s *shape) shareable() bool { return !s.whole }

// instance is the type of the nodes, if they are all of one that is known.
func (s *shape) instance() string {
	if len(s.node.InstanceTypes) == 1 {
		return s.node.InstanceTypes[0]
	}
	return ""
}
