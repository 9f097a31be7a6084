package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/slurm"
)

// Facts are what a cluster has.
type Facts struct {
	Partitions []slurm.Partition
	Nodes      []slurm.Node
}

// CheckScript finds what a batch script asks for and the cluster does not have:
// partitions, nodes, and of each node GPUs, CPUs and memory. flags are sbatch's
// options on the command line, which win over the script's. What it does not
// understand it leaves to sbatch.
func CheckScript(name string, data []byte, flags []string, facts Facts) *diag.List {
	list := CheckText(name, data)
	if list.HasErrors() {
		return list
	}
	w := wants(slices.Concat(directives(name, data), flagsOf(flags)))
	names := partitionsOf(w, facts)
	var first *diag.List
	for _, partition := range names {
		problems := checkPartition(name, w, partition, facts)
		if !problems.HasErrors() {
			return list // one of several partitions will do
		}
		if first == nil {
			first = problems
		}
	}
	if first != nil {
		list.Append(first.All()...)
	}
	return list
}

// partitionsOf are the partitions that the job may run in.
func partitionsOf(w want, facts Facts) []string {
	if w.partition.value != "" {
		return strings.Split(w.partition.value, ",")
	}
	for _, p := range facts.Partitions {
		if p.Default {
			return []string{p.Name}
		}
	}
	return nil
}

func checkPartition(file string, w want, name string, facts Facts) *diag.List {
	list := &diag.List{}
	i := slices.IndexFunc(facts.Partitions, func(p slurm.Partition) bool { return p.Name == name })
	if i < 0 {
		noPartition(list, w, name, facts)
		return list
	}
	r := room{file: file, list: list, want: w, name: name, partition: facts.Partitions[i], nodes: nodesOf(facts, name)}
	if len(r.nodes) == 0 {
		return list // nothing is known of them
	}
	r.checkGPUs()
	r.checkCPUs()
	r.checkMemory()
	if !list.HasErrors() {
		r.checkNodes()
	}
	return list
}

func nodesOf(facts Facts, partition string) []slurm.Node {
	var nodes []slurm.Node
	for _, n := range facts.Nodes {
		if slices.Contains(n.Partitions, partition) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

func noPartition(list *diag.List, w want, name string, facts Facts) {
	var names []string
	for _, p := range facts.Partitions {
		names = append(names, p.Name)
	}
	d := list.Errorf("script/partition", "", "there is no partition %q", name).At(w.partition.place)
	if near := diag.Nearest(name, names); near != "" {
		d.WithHint("did you mean %s?", near)
		return
	}
	d.WithHint("there is %s", strings.Join(names, ", "))
}

// room is a partition that a job is to fit in.
type room struct {
	file      string
	list      *diag.List
	want      want
	name      string
	partition slurm.Partition
	nodes     []slurm.Node
}

func (r room) checkNodes() {
	asked := r.want.nodes
	fits := 0
	for _, n := range r.nodes {
		if r.fits(n) {
			fits++
		}
	}
	switch {
	case r.want.minNodes > len(r.nodes):
		r.list.Errorf("script/nodes", "", "%s, but partition %s has %s", asked.written(), r.name, count(len(r.nodes), "node")).
			At(asked.place).WithHint("ask for at most %d, or raise MaxCount in the cluster file and run `muster up` again", len(r.nodes))
	case r.partition.MaxNodes > 0 && r.want.minNodes > r.partition.MaxNodes:
		r.list.Errorf("script/nodes", "", "%s, but partition %s allows a job %s", asked.written(), r.name, count(r.partition.MaxNodes, "node")).
			At(asked.place).WithHint("ask for at most %d", r.partition.MaxNodes)
	case max(r.want.minNodes, 1) > fits:
		r.list.Errorf("script/nodes", "", "of the %s of partition %s, %d have the CPUs, memory and GPUs together that the job wants of each",
			count(len(r.nodes), "node"), r.name, fits).At(cmp.Or(asked.place, diag.Place{File: r.file}))
	}
}

// fits says whether a node has what the job wants of each.
func (r room) fits(n slurm.Node) bool {
	return n.CPUs >= r.want.cpusPerNode() && n.MemoryMiB >= r.want.memoryMiB && gpusOf(n)[r.want.gpuType] >= r.want.gpuCount
}

func (r room) checkGPUs() {
	asked := r.want.gpus
	if r.want.gpuCount == 0 {
		return
	}
	most := map[string]int{}
	for _, n := range r.nodes {
		for kind, count := range gpusOf(n) {
			most[kind] = max(most[kind], count)
		}
	}
	kind := r.want.gpuType
	switch {
	case most[""] == 0:
		r.list.Errorf("script/gpus", "", "%s, but the nodes of partition %s have no GPUs", asked.written(), r.name).At(asked.place)
	case most[kind] == 0:
		r.list.Errorf("script/gpus", "", "%s, but no node of partition %s has a GPU of type %s", asked.written(), r.name, kind).
			At(asked.place).WithHint("there is %s", strings.Join(kinds(most), ", "))
	case most[kind] < r.want.gpuCount:
		r.list.Errorf("script/gpus", "", "%s, but a node of partition %s has %s", asked.written(), r.name, count(most[kind], "GPU")).
			At(asked.place).WithHint("GPUs are counted for each node; ask for more nodes instead")
	}
}

func kinds(most map[string]int) []string {
	var names []string
	for kind := range most {
		if kind != "" {
			names = append(names, kind)
		}
	}
	slices.Sort(names)
	return names
}

// gpusOf counts a node's GPUs by type; all of them are under "".
func gpusOf(n slurm.Node) map[string]int {
	counts := map[string]int{}
	for item := range strings.SplitSeq(n.Gres, ",") {
		if kind, count, ok := gres(item); ok {
			counts[""] += count
			if kind != "" {
				counts[kind] += count
			}
		}
	}
	return counts
}

func (r room) checkCPUs() {
	most := slices.MaxFunc(r.nodes, func(a, b slurm.Node) int { return cmp.Compare(a.CPUs, b.CPUs) }).CPUs
	asked := r.want.cpus
	if r.want.cpusPerNode() <= most {
		return
	}
	written := asked.written()
	if asked.name == "" {
		asked = r.want.tasks
		written = asked.written()
	} else if r.want.tasksPerNode > 1 {
		written = fmt.Sprintf("%s with %s is %d CPUs", written, r.want.tasks.written(), r.want.cpusPerNode())
	}
	r.list.Errorf("script/cpus", "", "%s, but a node of partition %s has %d", written, r.name, most).
		At(asked.place).WithHint("ask for at most %d CPUs on each node", most)
}

func (r room) checkMemory() {
	most := slices.MaxFunc(r.nodes, func(a, b slurm.Node) int { return cmp.Compare(a.MemoryMiB, b.MemoryMiB) }).MemoryMiB
	asked := r.want.memory
	if r.want.memoryMiB <= most {
		return
	}
	r.list.Errorf("script/memory", "", "%s, but a node of partition %s has %dM for jobs", asked.written(), r.name, most).
		At(asked.place).WithHint("--mem=0 takes all that a node has")
}
