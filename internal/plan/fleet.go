package plan

import (
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
)

// fleetOf counts the machines of a cluster file.
func fleetOf(c *spec.Cluster) Fleet {
	var f Fleet
	for _, q := range c.Scheduling.Queues {
		queue := Total{Queue: q.Name, GPUs: []GPUTotal{}}
		for _, r := range q.ComputeResources {
			g := group(q, r)
			f.Groups = append(f.Groups, g)
			queue.add(g.Node, g.MaxCount)
			f.Full.add(g.Node, g.MaxCount)
			f.Least.add(g.Node, g.MinCount)
		}
		f.Queues = append(f.Queues, queue)
	}
	f.Services = append(f.Services, service("head node", c.HeadNode.InstanceType, 1))
	for _, p := range c.LoginPools {
		f.Services = append(f.Services, service("login nodes "+p.Name, p.InstanceType, p.Count))
	}
	return f
}

func service(name, instanceType string, count int) Service {
	t, _ := catalog.Lookup(instanceType) // spec has refused unknown types
	return Service{
		Name: name, InstanceType: instanceType, Count: count, VCPUs: t.VCPUs, MemoryMiB: t.MemoryMiB, ScratchGB: t.NVMeGB, DisksKnown: disksKnown(t),
	}
}

func group(q spec.Queue, r spec.ComputeResource) Group {
	return Group{
		Queue: q.Name, Name: r.Name, InstanceTypes: r.InstanceTypes, CapacityType: q.CapacityType,
		Reserved: r.Reservation.Name() != "", MinCount: r.MinCount, MaxCount: r.MaxCount, Node: nodeOf(r),
	}
}

// nodeOf is what every node of a compute resource has.
func nodeOf(r spec.ComputeResource) Node {
	var n Node
	for i, name := range r.InstanceTypes {
		one := nodeOfType(name, r)
		if i == 0 {
			n = one
			continue
		}
		n.VCPUs, n.MemoryMiB = min(n.VCPUs, one.VCPUs), min(n.MemoryMiB, one.MemoryMiB)
		n.EFAInterfaces = min(n.EFAInterfaces, one.EFAInterfaces)
		n.EFAGbps, n.ScratchGB = min(n.EFAGbps, one.EFAGbps), min(n.ScratchGB, one.ScratchGB)
		n.networkMbps, n.DisksKnown = min(n.networkMbps, one.networkMbps), n.DisksKnown && one.DisksKnown
		if one.GPU != "" && !slices.Contains(strings.Split(n.GPU, or), one.GPU) {
			n.GPU += or + one.GPU
		}
		n.Accelerator = n.Accelerator || one.Accelerator
		n.GPUs, n.GPUMemoryMiB = min(n.GPUs, one.GPUs), min(n.GPUMemoryMiB, one.GPUMemoryMiB)
	}
	if n.GPUs == 0 {
		n.GPU, n.GPUMemoryMiB, n.Accelerator = "", 0, false
	}
	return n
}

// or joins the kinds of GPUs of which a node has one.
const or = " or "

func nodeOfType(name string, r spec.ComputeResource) Node {
	t, _ := catalog.Lookup(name)
	n := Node{
		VCPUs: t.VCPUs, MemoryMiB: t.MemoryMiB, GPU: t.GPU.Name, GPUs: t.GPU.Count, GPUMemoryMiB: t.GPU.MemoryMiB,
		EFA: r.EFA, ScratchGB: t.NVMeGB, DisksKnown: disksKnown(t), networkMbps: t.NetworkMbps,
	}
	if r.DisableSMT {
		n.VCPUs /= t.ThreadsPerCore
	}
	if t.GPU.Name == "" {
		n.GPU, n.GPUs, n.Accelerator = t.Accelerator, t.AcceleratorCount, t.AcceleratorCount > 0
	}
	n.EFAInterfaces = t.EFA
	if traits, ok := catalog.TraitsOf(name); ok {
		n.EFAInterfaces = traits.EFA
	}
	if r.EFA && t.EFA > 0 {
		n.EFAGbps = t.NetworkMbps / 1000
	}
	return n
}

// disksKnown reports whether the catalogue says how large a type's own disks are:
// it lists them, or the type has none.
func disksKnown(t catalog.Instance) bool { return !t.Derived || !t.HasDisks() }

// add adds a number of equal nodes.
func (t *Total) add(n Node, count int) {
	if t.GPUs == nil {
		t.GPUs = []GPUTotal{}
	}
	t.Nodes += count
	t.VCPUs += count * n.VCPUs
	t.MemoryMiB += int64(count) * int64(n.MemoryMiB)
	t.EFAGbps += count * n.EFAGbps
	t.ScratchGB += count * n.ScratchGB
	t.EFAIncomplete = t.EFAIncomplete || count > 0 && !n.EFAKnown()
	t.ScratchIncomplete = t.ScratchIncomplete || count > 0 && !n.DisksKnown
	if n.GPUs == 0 || count == 0 {
		return
	}
	i := slices.IndexFunc(t.GPUs, func(g GPUTotal) bool { return g.GPU == n.GPU })
	if i < 0 {
		i, t.GPUs = len(t.GPUs), append(t.GPUs, GPUTotal{GPU: n.GPU, Accelerator: n.Accelerator})
	}
	t.GPUs[i].Count += count * n.GPUs
	t.GPUs[i].MemoryMiB += int64(count) * int64(n.GPUs) * int64(n.GPUMemoryMiB)
}

// GPUCount is the number of GPUs of all kinds, without other accelerators.
func (t Total) GPUCount() int {
	n := 0
	for _, g := range t.GPUs {
		if !g.Accelerator {
			n += g.Count
		}
	}
	return n
}
