// Package plan turns what the user asked for into what has to be made: pure
// functions from the cluster file and the world to values. After its result is
// applied there is nothing left to plan. It does no I/O and knows no clock.
package plan

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// NodeNames are the names that ParallelCluster would give to the nodes of a
// cluster file, in the file's order.
func NodeNames(c *spec.Cluster) []string {
	var names []string
	for _, g := range Groups(c, nil) {
		names = append(names, g.Names()...)
	}
	return names
}

// Groups are the Slurm nodes of a cluster file, with those addresses that they have.
func Groups(c *spec.Cluster, addresses map[string]netip.Addr) []slurm.NodeGroup {
	var groups []slurm.NodeGroup
	for _, q := range c.Scheduling.Queues {
		for _, r := range q.ComputeResources {
			groups = append(groups, resourceGroups(q, r, addresses)...)
		}
	}
	return groups
}

func resourceGroups(q spec.Queue, r spec.ComputeResource, addresses map[string]netip.Addr) []slurm.NodeGroup {
	var groups []slurm.NodeGroup
	for _, static := range []bool{true, false} {
		count := r.MaxCount - r.MinCount
		if static {
			count = r.MinCount
		}
		if count == 0 {
			continue
		}
		g := offer(r)
		g.Resource, g.Static, g.Custom = slurm.Resource{Queue: q.Name, Name: r.Name}, static, settings(r.Custom)
		if g.Weight = r.DynamicPriority; static {
			g.Weight = r.StaticPriority
		}
		g.Features, g.TmpDiskMiB = features(r, static), cmp.Or(q.RootVolume.SizeGiB, imageGiB)<<10
		g.Addresses = make([]netip.Addr, count)
		for i, name := range g.Names() {
			g.Addresses[i] = addresses[name]
		}
		groups = append(groups, g)
	}
	return groups
}

// imageGiB is the root volume of ParallelCluster's images, the least of them.
const imageGiB = 35

// offer is what a node of the compute resource gives to Slurm: the least of its
// instance types. As ParallelCluster does it, 5 % of the memory is kept back.
func offer(r spec.ComputeResource) slurm.NodeGroup {
	var g slurm.NodeGroup
	for i, name := range r.InstanceTypes {
		t, _ := catalog.Lookup(name) // spec has refused unknown types
		cpus, memory := t.VCPUs, t.MemoryMiB*95/100
		if r.DisableSMT {
			cpus /= t.ThreadsPerCore
		}
		if i == 0 || cpus < g.CPUs {
			g.CPUs = cpus
		}
		if i == 0 || memory < g.MemoryMiB {
			g.MemoryMiB = memory
		}
		if i == 0 || t.GPU.Count < g.GPUs {
			g.GPU, g.GPUs = t.GPU.Name, t.GPU.Count
		}
	}
	if r.SchedulableMemoryMiB > 0 {
		g.MemoryMiB = r.SchedulableMemoryMiB
	}
	return g
}

// features are what jobs may ask for with --constraint. The first says whether
// the nodes are static or dynamic.
func features(r spec.ComputeResource, static bool) []string {
	list := []string{"dynamic"}
	if static {
		list[0] = "static"
	}
	more := append(slices.Clone(r.InstanceTypes), r.Name)
	if r.EFA {
		more = append(more, "efa")
	}
	if offer(r).GPUs > 0 {
		more = append(more, "gpu")
	}
	for _, f := range more {
		if !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	return list
}

func settings(from []spec.Setting) []slurm.Setting {
	var to []slurm.Setting
	for _, s := range from {
		to = append(to, slurm.Setting{Key: s.Key, Value: s.Value})
	}
	return to
}

// Partitions are the Slurm partitions of a cluster file.
func Partitions(c *spec.Cluster, groups []slurm.NodeGroup) []slurm.PartitionConf {
	var partitions []slurm.PartitionConf
	for _, q := range c.Scheduling.Queues {
		p := slurm.PartitionConf{Name: q.Name, Exclusive: q.JobExclusive, Custom: settings(q.Custom)}
		for _, g := range groups {
			if g.Queue == q.Name {
				p.Nodes = append(p.Nodes, g.List())
			}
		}
		partitions = append(partitions, p)
	}
	return partitions
}

// Range is the addresses that nodes may have, both ends included.
type Range struct{ First, Last netip.Addr }

func (r Range) has(a netip.Addr) bool { return r.First.Compare(a) <= 0 && a.Compare(r.Last) <= 0 }

// Addresses gives each node an address of the range. Nodes that have one keep
// it, so that a node lives on while others come and go. It fails if there are
// more nodes than addresses, or if two nodes have one name: a queue q-dy with a
// compute resource r makes the same as a queue q with a compute resource dy-r.
func Addresses(names []string, have map[string]netip.Addr, within Range) (map[string]netip.Addr, error) {
	addresses := make(map[string]netip.Addr, len(names))
	taken := make(map[netip.Addr]bool, len(names))
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if seen[name] {
			return nil, fmt.Errorf("the file gives two nodes the name %s; rename a queue or a compute resource", name)
		}
		seen[name] = true
		if a, ok := have[name]; ok && within.has(a) && !taken[a] {
			addresses[name], taken[a] = a, true
		}
	}
	next := within.First
	for _, name := range names {
		if _, ok := addresses[name]; ok {
			continue
		}
		for taken[next] {
			next = next.Next()
		}
		if !within.has(next) {
			return nil, fmt.Errorf("the file has %d nodes, and the cluster's network has no more than %d addresses for them", len(names), len(addresses))
		}
		addresses[name], taken[next] = next, true
	}
	return addresses, nil
}
