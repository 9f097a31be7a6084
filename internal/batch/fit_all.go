package batch

import (
	"cmp"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/slurm"
)

// What a job asks for in all, not of each of its nodes (tried with sbatch --test-only of
// Slurm 22.05).

// most is what the nodes that a job may have can have of something together: of all nodes
// of the partition, or of the best of them where the job says how many it wants.
func (r room) most(of func(Resource) int) int {
	groups := slices.SortedFunc(slices.Values(r.queue.Resources), func(a, b Resource) int { return cmp.Compare(of(b), of(a)) })
	left, all := r.queue.nodes(), 0
	if r.job.exact && r.job.nodes.Name != "" {
		left = min(left, r.job.minNodes)
	}
	for _, g := range groups {
		n := min(g.Count, left)
		all += n * of(g)
		left -= n
	}
	return all
}

// where says which nodes can have no more.
func (r room) where() string {
	if r.job.exact && r.job.nodes.Name != "" && r.job.minNodes < r.queue.nodes() {
		return count.Of(r.job.minNodes, "node") + " of partition " + r.queue.Name
	}
	return "all nodes of partition " + r.queue.Name
}

// checkAllGPUs is about options that count GPUs for the job, for each task or socket.
func (r room) checkAllGPUs() {
	for _, name := range []string{"gpus", "gpus-per-task", "gpus-per-socket"} {
		o, ok := r.script.option(name)
		if !ok || strings.Contains(o.Value, "$") {
			continue
		}
		for item := range strings.SplitSeq(o.Value, ",") {
			if kind, n, ok := gres("gpu:" + item); ok && n > 0 && r.hasGPUs(o, kind) {
				r.countGPUs(o, kind, n)
			}
		}
	}
}

// countGPUs holds a number of GPUs to those of a node, where one must have them, and of all nodes.
func (r room) countGPUs(o Option, kind string, n int) {
	of := func(g Resource) int { return g.gpus(kind) }
	written := o.written()
	if o.Name != "gpus" {
		if best := r.best(of); n > best {
			r.errorf("script/gpus", o, "%s, but a node of partition %s has %s", written, r.queue.Name, count.Of(best, "GPU"))
			return
		}
		if o.Name != "gpus-per-task" || r.job.allTasks == 0 {
			return
		}
		n *= r.job.allTasks
		written += " for " + count.Of(r.job.allTasks, "task") + " is " + count.Of(n, "GPU")
	}
	if most := r.most(of); n > most {
		r.errorf("script/gpus", o, "%s, but %s have %s", written, r.where(), count.Of(most, "GPU"))
	}
}

// best is the most of something that a node of the partition has.
func (r room) best(of func(Resource) int) int {
	best := 0
	for _, g := range r.queue.Resources {
		best = max(best, of(g))
	}
	return best
}

// hasGPUs reports GPUs, or GPUs of a type, that no node of the partition has, and returns whether one has some.
func (r room) hasGPUs(asked Option, kind string) bool {
	var kinds, types []string
	for _, g := range r.queue.Resources {
		if g.gpus(kind) > 0 {
			return true
		}
		if g.GPUs > 0 && g.GPU != "" && !slices.Contains(kinds, g.GPU) {
			kinds = append(kinds, g.GPU)
			types = append(types, g.InstanceTypes...)
		}
	}
	slices.Sort(kinds)
	if len(kinds) == 0 {
		r.errorf("script/gpus", asked, "%s, but the nodes of partition %s have no GPUs", asked.written(), r.queue.Name)
		return false
	}
	d := r.errorf("script/gpus", asked, "%s, but no node of partition %s has a GPU of type %s", asked.written(), r.queue.Name, kind).
		WithHint("there is %s", strings.Join(kinds, ", "))
	if len(kinds) == 1 && len(types) > 0 {
		d.WithHint("%s has %s", strings.Join(types, ", "), kinds[0])
	}
	return false
}

// checkAllCPUs is about the CPUs of all tasks together.
func (r room) checkAllCPUs() {
	o, ok := r.script.option("ntasks")
	of := func(g Resource) int { return g.CPUs }
	if !ok || r.script.has(otherwise...) || r.job.cpusPerNode() > r.best(of) {
		return
	}
	wants, most := r.job.allTasks*max(r.job.cpusPerTask, 1), r.most(of)
	if wants <= most {
		return
	}
	written := o.written()
	if r.job.cpusPerTask > 1 {
		written += " with " + r.job.cpus.written() + " is " + count.Of(wants, "CPU")
	}
	r.errorf("script/cpus", o, "%s, but %s have %s", written, r.where(), count.Of(most, "CPU")).
		WithHint("ask for at most %s", count.Of(most/max(r.job.cpusPerTask, 1), "task"))
}

// checkExcluded is about nodes that the job does not want.
func (r room) checkExcluded() {
	o, ok := r.script.option("exclude")
	kinds, known := r.queue.kinds()
	if !ok || !known || o.Value == "" || strings.ContainsAny(o.Value, "$/") {
		return
	}
	names, err := slurm.Expand(o.Value)
	if err != nil {
		return // that is said already
	}
	left := 0
	for _, k := range kinds {
		for _, n := range k.Nodes {
			if !slices.Contains(names, n) {
				left++
			}
		}
	}
	if wants := max(r.job.minNodes, 1); wants > left {
		r.errorf("script/nodes", o, "%s leaves %d of the %s of partition %s, and the job wants %d", o.written(), left, count.Of(r.queue.nodes(), "node"), r.queue.Name, wants)
	}
}
