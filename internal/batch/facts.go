package batch

import (
	"path"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// Facts are what a cluster has.
type Facts struct {
	Queues []Queue
	// Mounts are the directories that all nodes share.
	Mounts []Mount
	// MemoryScheduling says that Slurm counts memory and holds jobs to it.
	MemoryScheduling bool
	// Containers says that srun surely has the options for containers; false is not
	// known.
	Containers bool
	// Missing are directories that are surely not there, of those in OutputDirs.
	Missing []string
	// Made are directories that are surely there before any job.
	Made []string
	// ImageFiles are the names of files of images in the working directory.
	ImageFiles []string
	// Filed says that the facts come from a cluster file, so that what is not here
	// is not on the cluster. Partitions and nodes alone say nothing of mounts.
	Filed bool
	// GresTypes are the generic resources that Slurm counts; nil is not known.
	GresTypes []string
	// Asked is what the cluster itself told, nil if it was not asked.
	Asked *Asked
	// Lacking are those of the script's Things that are not there; nil is not known.
	Lacking Lacking
	// ArraySize is MaxArraySize of slurm.conf, 0 if it is not known.
	ArraySize int
	// Slurm are the versions of Slurm that the cluster may have.
	Slurm Versions
	// Rehearsal says that the nodes are made out of one machine.
	Rehearsal bool
}

// Queue is a partition.
type Queue struct {
	Name    string
	Default bool
	// Exclusive says that jobs always get whole nodes.
	Exclusive bool
	// CapacityType is ONDEMAND, SPOT, CAPACITY_BLOCK, or "" if it is not known.
	CapacityType string
	// MinNodes is how many nodes a job must have, MaxNodes how many it may have, 0 for all. MaxMinutes is how long.
	MinNodes, MaxNodes, MaxMinutes int
	// ScratchDir is where the nodes' own disks are mounted.
	ScratchDir string
	Resources  []Resource
}

// Resource is a group of equal nodes.
type Resource struct {
	Name  string
	Count int
	// InstanceTypes are the types that its nodes may have, if they are known.
	InstanceTypes []string
	// CPUs are those that Slurm counts: threads, or cores where SingleThread.
	CPUs         int
	SingleThread bool
	// MemoryMiB is what jobs can have of a node.
	MemoryMiB int
	// GPU is the type in Slurm's words, such as "h200".
	GPU  string
	GPUs int
	EFA  bool
	// Reservation is the capacity reservation or block that the nodes come from.
	Reservation string
	// Kinds are the nodes by their features; none are not known.
	Kinds []Kind
}

// Mount is a directory that all nodes share.
type Mount struct {
	Dir string
	// Kind is Ebs, Efs, FsxLustre, FsxOpenZfs, FsxOntap, FileCache, or HeadNode for
	// what the head node exports; "" is a directory that happens to be there.
	Kind string
	// DeploymentType is that of a Lustre file system, such as SCRATCH_2.
	DeploymentType string
	// DeletionPolicy says what becomes of it with the cluster: Delete, Retain. It is
	// "" where the file system is not the cluster's.
	DeletionPolicy spec.DeletionPolicy
	// Exported are the directories of it that FSx exports to buckets, each with where to.
	Exported []Exported
}

// Exported is a directory that FSx exports by itself.
type Exported struct{ Dir, Bucket, Prefix string }

// FactsOf are the facts in a cluster file.
func FactsOf(c *spec.Cluster) *Facts {
	f := &Facts{MemoryScheduling: c.Scheduling.Slurm.MemoryBasedScheduling, Filed: true, GresTypes: gresTypes(c), ArraySize: maxArraySizeOf(c), Slurm: cloudVersions}
	kinds := kindsOf(c)
	for i, q := range c.Scheduling.Queues {
		queue := Queue{Name: q.Name, Default: i == 0, Exclusive: q.JobExclusive, CapacityType: q.CapacityType, ScratchDir: q.ScratchDir}
		for _, c := range q.Custom {
			switch c.Key {
			case "MaxTime":
				queue.MaxMinutes = minutesIn(c.Value)
			case "MinNodes":
				queue.MinNodes = number(c.Value)
			case "MaxNodes":
				queue.MaxNodes = number(c.Value)
			}
		}
		for _, r := range q.ComputeResources {
			resource := resourceOf(q, r)
			resource.Kinds = kinds[q.Name+"/"+r.Name]
			queue.Resources = append(queue.Resources, resource)
		}
		f.Queues = append(f.Queues, queue)
	}
	for _, s := range c.SharedStorage {
		m := Mount{Dir: s.MountDir, Kind: string(s.Kind), DeploymentType: s.Lustre.DeploymentType, DeletionPolicy: s.DeletionPolicy}
		for _, r := range s.Repositories {
			if r.Exports() {
				m.Exported = append(m.Exported, Exported{r.Dir, r.Bucket, r.Prefix})
			}
		}
		f.Mounts = append(f.Mounts, m)
	}
	if !slices.ContainsFunc(f.Mounts, func(m Mount) bool { return m.Dir == "/home" }) {
		f.Mounts = append(f.Mounts, Mount{Dir: "/home", Kind: "HeadNode"})
	}
	return f
}

// resourceOf has the least of its instance types, as Slurm is told. As
// ParallelCluster does it, 5 % of the memory is kept back.
func resourceOf(q spec.Queue, r spec.ComputeResource) Resource {
	out := Resource{
		Name: r.Name, Count: r.MaxCount, InstanceTypes: r.InstanceTypes, SingleThread: r.DisableSMT, EFA: r.EFA,
		Reservation: r.Reservation.Name(),
	}
	for i, name := range r.InstanceTypes {
		t, _ := catalog.Lookup(name) // spec has refused unknown types
		cpus, memory := t.VCPUs, t.MemoryMiB*95/100
		if r.DisableSMT && t.ThreadsPerCore > 0 {
			cpus /= t.ThreadsPerCore
		}
		if i == 0 {
			out.CPUs, out.MemoryMiB, out.GPU, out.GPUs = cpus, memory, t.GPU.Name, t.GPU.Count
			continue
		}
		out.CPUs, out.MemoryMiB = min(out.CPUs, cpus), min(out.MemoryMiB, memory)
		if t.GPU.Count < out.GPUs {
			out.GPU, out.GPUs = t.GPU.Name, t.GPU.Count
		}
	}
	if r.SchedulableMemoryMiB > 0 {
		out.MemoryMiB = r.SchedulableMemoryMiB
	}
	return out
}

// gresTypes are those of slurm.conf: GPUs, if the file does not say otherwise.
func gresTypes(c *spec.Cluster) []string {
	if slices.ContainsFunc(c.Scheduling.Slurm.Custom, func(s spec.Setting) bool { return strings.EqualFold(s.Key, "GresTypes") }) {
		return nil
	}
	return []string{"gpu"}
}

// maxArraySizeOf is what the file says of MaxArraySize, or Slurm's default. Settings in a file of their own are not known.
func maxArraySizeOf(c *spec.Cluster) int {
	if c.Scheduling.Slurm.CustomFile != "" {
		return 0
	}
	for _, s := range c.Scheduling.Slurm.Custom {
		if strings.EqualFold(s.Key, "MaxArraySize") {
			return number(s.Value)
		}
	}
	return defaultArraySize
}

// kindsOf are the nodes of a cluster file by queue and compute resource. The plan has
// them in the file's order, a group's static nodes before its dynamic ones.
func kindsOf(c *spec.Cluster) map[string][]Kind {
	all := map[string][]Kind{}
	for _, g := range plan.Groups(c, nil) {
		all[g.Resource.String()] = append(all[g.Resource.String()], Kind{Features: g.Features, Nodes: g.Names()})
	}
	return all
}

// Running are the facts of a cluster that runs: its partitions and nodes as
// Slurm shows them, and what its file says beside. filed may be nil.
func Running(filed *Facts, partitions []slurm.Partition, nodes []slurm.Node) *Facts {
	f := &Facts{}
	if filed != nil {
		*f = *filed
	}
	f.Queues, f.Slurm = nil, versionsOfNodes(nodes)
	for _, p := range partitions {
		q := Queue{Name: p.Name}
		if filed != nil {
			if known, ok := filed.queue(p.Name); ok {
				q = known
			}
		}
		q.Default, q.MinNodes, q.MaxNodes, q.MaxMinutes = p.Default, p.MinNodes, p.MaxNodes, int(p.MaxTime.Minutes())
		q.Exclusive = q.Exclusive || strings.HasPrefix(p.OverSubscribe, "EXCLUSIVE")
		q.Resources = runningResources(q.Resources, p.Name, nodes)
		f.Queues = append(f.Queues, q)
	}
	return f
}

// versionsOfNodes are those of the slurmds that have registered, srun's on the nodes.
func versionsOfNodes(nodes []slurm.Node) Versions {
	releases := make([]string, len(nodes))
	for i, n := range nodes {
		releases[i] = n.Version
	}
	return versionsOf(releases)
}

// runningResources groups a partition's nodes. What Slurm does not tell of them
// comes from the compute resource of the file that their features name.
func runningResources(filed []Resource, partition string, nodes []slurm.Node) []Resource {
	var all []Resource
	for _, n := range nodes {
		if !slices.Contains(n.Partitions, partition) {
			continue
		}
		r := Resource{}
		for _, known := range filed {
			if slices.Contains(n.Features, known.Name) {
				r = known
			}
		}
		r.CPUs, r.MemoryMiB, r.GPU, r.GPUs, r.Count = n.CPUs, n.MemoryMiB, "", 0, 1
		r.Kinds = []Kind{{Features: n.Features, Nodes: []string{n.Name}}}
		if kind, count, ok := gres(n.Gres); ok {
			r.GPU, r.GPUs = kind, count
		}
		i := slices.IndexFunc(all, r.equals)
		if i < 0 {
			all = append(all, r)
			continue
		}
		all[i].Count++
		all[i].Kinds = addNode(all[i].Kinds, n)
	}
	return all
}

// addNode adds a node to those of its features.
func addNode(kinds []Kind, n slurm.Node) []Kind {
	for i := range kinds {
		if slices.Equal(kinds[i].Features, n.Features) {
			kinds[i].Nodes = append(kinds[i].Nodes, n.Name)
			return kinds
		}
	}
	return append(kinds, Kind{Features: n.Features, Nodes: []string{n.Name}})
}

// equals tells whether nodes are of one group.
func (r Resource) equals(o Resource) bool {
	return r.Name == o.Name && r.CPUs == o.CPUs && r.MemoryMiB == o.MemoryMiB && r.GPU == o.GPU && r.GPUs == o.GPUs
}

func (f *Facts) queue(name string) (Queue, bool) {
	for _, q := range f.Queues {
		if q.Name == name {
			return q, true
		}
	}
	return Queue{}, false
}

// mount is the shared directory that a path is on.
func (f *Facts) mount(file string) (Mount, bool) {
	var best Mount
	for _, m := range f.Mounts {
		if within(m.Dir, file) && len(m.Dir) > len(best.Dir) {
			best = m
		}
	}
	return best, best.Dir != ""
}

// within tells whether a path is a directory or below it.
func within(dir, file string) bool {
	file = path.Clean(file)
	return file == dir || dir == "/" || strings.HasPrefix(file, dir+"/")
}

func (q Queue) nodes() int {
	n := 0
	for _, r := range q.Resources {
		n += r.Count
	}
	return n
}

// gpus tells whether all nodes of a queue have GPUs.
func (q Queue) gpus() bool {
	return len(q.Resources) > 0 && !slices.ContainsFunc(q.Resources, func(r Resource) bool { return r.GPUs == 0 })
}
