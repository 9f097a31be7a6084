package batch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/say/count"
)

// fitRules find requests of the job that the cluster cannot meet:
// partitions, nodes, and of each node GPUs, CPUs and memory.
func fitRules(s *script) {
	if s.facts == nil || s.parts {
		return
	}
	var names []string
	for _, name := range s.queueNames() { // Slurm refuses a list with one that is not there
		if _, ok := s.facts.queue(name); !ok {
			noPartition(s.list, s, name)
			continue
		}
		names = append(names, name)
	}
	var first *diag.List
	for _, name := range names {
		problems := checkQueue(s, name)
		if !problems.HasErrors() {
			return // one of several partitions will do
		}
		if first == nil {
			first = problems
		}
	}
	s.list.Append(first.All()...)
}

// queueNames are the partitions that the job may run in.
func (s *script) queueNames() []string {
	if s.job.partition.Value != "" {
		return slices.DeleteFunc(strings.Split(s.job.partition.Value, ","), func(name string) bool { return name == "" })
	}
	for _, q := range s.facts.Queues {
		if q.Default {
			return []string{q.Name}
		}
	}
	return nil
}

// queues are the queues that the job may run in and that are there. There are
// none without facts.
func (s *script) queues() []Queue {
	if s.facts == nil || s.parts {
		return nil
	}
	var all []Queue
	for _, name := range s.queueNames() {
		if q, ok := s.facts.queue(name); ok {
			all = append(all, q)
		}
	}
	return all
}

// queue is the queue that the job will run in, if there is only one.
func (s *script) queue() (Queue, bool) {
	all := s.queues()
	if len(all) != 1 {
		return Queue{}, false
	}
	return all[0], true
}

func checkQueue(s *script, name string) *diag.List {
	list := &diag.List{}
	q, _ := s.facts.queue(name)
	r := room{script: s, list: list, job: s.job, queue: q}
	if q.nodes() == 0 {
		return list // nothing is known of them
	}
	r.checkGPUs()
	r.checkCPUs()
	r.checkMemory()
	r.checkFeatures()
	r.checkAllGPUs()
	r.checkAllCPUs()
	if !r.checkNodes() && !list.HasErrors() {
		r.checkTogether()
		r.checkExcluded()
	}
	return list
}

func noPartition(list *diag.List, s *script, name string) {
	var names []string
	for _, q := range s.facts.Queues {
		names = append(names, q.Name)
	}
	d := list.Errorf("script/partition", "", "there is no partition %q", name).At(s.job.partition.Place)
	if near := diag.Nearest(name, names); near != "" {
		d.WithHint("did you mean %s?", near)
		return
	}
	d.WithHint("there is %s", strings.Join(names, ", "))
}

// room is a partition that a job is to fit in.
type room struct {
	script *script
	list   *diag.List
	job    job
	queue  Queue
}

func (r room) errorf(code string, o Option, format string, args ...any) *diag.Diagnostic {
	place := o.Place
	if o.Name == "" {
		place.File = r.script.file.name
	}
	return r.list.Errorf(code, "", format, args...).At(place)
}

// checkNodes reports that there are too few nodes, and returns whether it did.
func (r room) checkNodes() bool {
	asked, all, name := r.job.nodes, r.queue.nodes(), r.queue.Name
	least := r.job.minNodes
	if asked.Name == "" {
		asked = r.job.tasks
	}
	switch {
	case asked.Name == "nodes" && least > all:
		r.errorf("script/nodes", asked, "%s, but partition %s has %s", asked.written(), name, count.Of(all, "node")).
			WithHint("ask for at most %d, or raise MaxCount in the cluster file and run `muster up` again", all)
	case least > all:
		r.errorf("script/nodes", asked, "the tasks need %s, but partition %s has %s", count.Of(least, "node"), name, count.Of(all, "node"))
	case r.queue.MaxNodes > 0 && least > r.queue.MaxNodes:
		r.errorf("script/nodes", asked, "%s, but partition %s allows a job %s", asked.written(), name, count.Of(r.queue.MaxNodes, "node")).
			WithHint("ask for at most %d", r.queue.MaxNodes)
	case asked.Name == "nodes" && r.job.exact && least < r.queue.MinNodes:
		r.errorf("script/nodes", asked, "%s, but a job of partition %s has at least %d nodes", asked.written(), name, r.queue.MinNodes).
			WithHint("ask for %d, or for another partition", r.queue.MinNodes)
	default:
		return false
	}
	return true
}

// checkTogether: what no node lacks may still be on different nodes.
func (r room) checkTogether() {
	fits := 0
	for _, g := range r.queue.Resources {
		if r.fits(g) {
			fits += g.Count
		}
	}
	if max(r.job.minNodes, 1) > fits {
		asked := r.job.nodes
		if asked.Name == "" {
			asked = r.job.tasks
		}
		r.errorf("script/nodes", asked, "of the %s of partition %s, %d have the CPUs, memory and GPUs together that the job wants of each",
			count.Of(r.queue.nodes(), "node"), r.queue.Name, fits)
	}
}

// fits reports whether a node has as much as the job wants of each.
func (r room) fits(g Resource) bool {
	return g.CPUs >= r.job.cpusPerNode() && g.MemoryMiB >= r.job.memoryMiB && g.gpus(r.job.gpuType) >= r.job.gpuCount
}

// gpus counts the GPUs of a type, or all of them.
func (r Resource) gpus(kind string) int {
	if kind != "" && kind != r.GPU {
		return 0
	}
	return r.GPUs
}

func (r room) checkGPUs() {
	asked, kind := r.job.gpus, r.job.gpuType
	if r.job.gpuCount == 0 || !r.hasGPUs(asked, kind) {
		return
	}
	if most := r.best(func(g Resource) int { return g.gpus(kind) }); most < r.job.gpuCount {
		r.errorf("script/gpus", asked, "%s, but a node of partition %s has %s", asked.written(), r.queue.Name, count.Of(most, "GPU")).
			WithHint("GPUs are counted for each node; ask for more nodes instead")
	}
}

func (r room) checkCPUs() {
	best := slices.MaxFunc(r.queue.Resources, func(a, b Resource) int { return cmp.Compare(a.CPUs, b.CPUs) })
	asked := r.job.cpus
	if r.job.cpusPerNode() <= best.CPUs {
		return
	}
	written := asked.written()
	if asked.Name == "" {
		asked = r.job.tasks
		written = asked.written()
	} else if r.job.tasksPerNode > 1 {
		written = fmt.Sprintf("%s with %s is %d CPUs", written, r.job.tasks.written(), r.job.cpusPerNode())
	}
	d := r.errorf("script/cpus", asked, "%s, but a node of partition %s has %d", written, r.queue.Name, best.CPUs).
		WithHint("ask for at most %d CPUs on each node", best.CPUs)
	if best.SingleThread {
		d.Hint += "; DisableSimultaneousMultithreading gives jobs cores, not threads"
	}
}

func (r room) checkMemory() {
	best := slices.MaxFunc(r.queue.Resources, func(a, b Resource) int { return cmp.Compare(a.MemoryMiB, b.MemoryMiB) })
	asked := r.job.memory
	if r.job.memoryMiB <= best.MemoryMiB {
		return
	}
	r.errorf("script/memory", asked, "%s, but a node of partition %s has %dM for jobs", asked.written(), r.queue.Name, best.MemoryMiB).
		WithHint("--mem=0 takes all that a node has")
}
