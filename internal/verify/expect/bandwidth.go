package expect

import (
	"fmt"

	"github.com/muster-hpc/muster/internal/catalog"
)

// Confidence is how well an expected bandwidth is known.
type Confidence string

// Measured is what somebody has published of the same instance type and as many nodes. Modelled follows from such measurements by what
// limits them. Extrapolated does so across instance types, and nobody has measured it: being below it is a warning at most.
const (
	Measured     Confidence = "measured"
	Modelled     Confidence = "modelled"
	Extrapolated Confidence = "extrapolated"
)

// Bandwidth is what a collective, or traffic between two nodes, should come to.
type Bandwidth struct {
	// At are bandwidths by the size of messages, the smallest first; empty if none is known, for which Unknown is the reason.
	At         []SizeRate
	Confidence Confidence
	Source     string
	Unknown    string
}

// SizeRate is a bandwidth in 10^9 bytes a second from a size of messages on; 0 bytes is any.
type SizeRate struct {
	Bytes int64
	GBps  float64
}

// For is what is right for messages of a size. It is not exact if the size is smaller than any of which something is known.
func (b Bandwidth) For(bytes int64) (gbps float64, exact bool) {
	for _, at := range b.At {
		if !exact || bytes >= at.Bytes {
			gbps = at.GBps
			if exact = bytes >= at.Bytes; !exact {
				return gbps, false
			}
		}
	}
	return gbps, exact
}

// Beyond is the size of messages that has to be measured besides a sweep up to some bytes, for what is published begins there; 0 where
// the sweep reaches it, or the GPUs' memory does not hold it. nccl-tests keeps three buffers of a size, and leaves up to 5 GiB free:
// memMaxBytes in https://github.com/NVIDIA/nccl-tests/blob/master/src/common.cu
func (b Bandwidth) Beyond(sweep, memoryMiB int64) int64 {
	if len(b.At) == 0 || b.At[0].Bytes <= sweep || 3*b.At[0].Bytes+5*gib > memoryMiB<<20 {
		return 0
	}
	return b.At[0].Bytes
}

// Group is a number of equal nodes on which a collective runs, each with as many ranks as it has GPUs.
type Group struct {
	InstanceType string
	Nodes, GPUs  int // GPUs are a node's
	// Collective is its name as nccl-tests has it, such as all_reduce.
	Collective string
}

// BusLeast is the smallest message of which a bandwidth is expected: 128 MiB comes to half of the peak only.
const BusLeast = 1 << 30

// BusBandwidth is the bus bandwidth that NCCL should come to: what was measured and published, else what the network allows. That of two
// nodes, where NVLink carries much of it, is no measure for more.
func BusBandwidth(g Group) Bandwidth {
	if row, ok := published(g); ok {
		return row
	}
	in, known := catalog.Lookup(g.InstanceType)
	switch {
	case !known || in.GPU.Count == 0 || in.NetworkMbps == 0:
		return Bandwidth{Unknown: "nothing is published about NCCL on such a node"}
	case g.Collective == "broadcast" || g.Collective == "reduce":
		return Bandwidth{Unknown: "no bandwidths of " + g.Collective + " are published: compare with an earlier report"}
	case g.Nodes < 2 || g.GPUs != in.GPU.Count || in.EFA < 2:
		return Bandwidth{Unknown: fmt.Sprintf("nothing is published about %s on %d × %d GPUs of %s", g.Collective, g.Nodes, g.GPUs, g.InstanceType)}
	}
	return modelled(g, in)
}

const modelSource = "published measurements of p4de, p5, p5en and p6-b200 (awsome-distributed-training, ml-engineering), as a part of a node's EFA: "

// ring and ringOthers are the least parts of a node's EFA that rings over four and more nodes came to, and pair that of trees over two
// whose data NVLink spreads.
const (
	ring       = 0.91
	ringOthers = 0.95 * ring
	pair       = 0.65
)

// modelled is what EFA allows: on four nodes or more a ring is bound by a node's EFA; on two, half of the data stays in the node.
func modelled(g Group, in catalog.Instance) Bandwidth {
	nic := float64(in.NetworkMbps) / 8e3
	ranks := float64(g.Nodes * g.GPUs)
	tree := pair * nic * (ranks - 1) / float64(g.GPUs*(g.Nodes-1))
	out := Bandwidth{Confidence: Extrapolated}
	switch {
	case g.Collective == "all_reduce" && g.Nodes == 2:
		out.At, out.Source = one(tree), modelSource+fmt.Sprintf("65 %% of %.0f GB/s × (ranks - 1) / GPUs of a node", nic)
	case g.Collective == "all_reduce" && g.Nodes == 3:
		out.At, out.Source = one(min(tree, ring*nic)), modelSource+fmt.Sprintf("91 %% of %.0f GB/s, of three nodes none", nic)
	case g.Collective == "all_reduce":
		out.At, out.Source = one(ring*nic), modelSource+fmt.Sprintf("91 %% of %.0f GB/s", nic)
		if nic == 400 { // p5 to p6-b200: what rings were measured with
			out.Confidence = Modelled
		}
	case (g.Collective == "all_gather" || g.Collective == "reduce_scatter") && g.Nodes >= 4:
		out.At, out.Source = one(ringOthers*nic), modelSource+fmt.Sprintf("95 %% of all_reduce's 91 %% of %.0f GB/s", nic)
	default:
		return Bandwidth{Unknown: fmt.Sprintf("no bandwidths of %s on %d nodes are published", g.Collective, g.Nodes)}
	}
	return out
}

func one(gbps float64) []SizeRate { return []SizeRate{{BusLeast, gbps}} }

// flowMbps is what one connection gets between instances that share no placement group.
const flowMbps = 5000

// Traffic is what two nodes should come to each way over TCP, with some connections at once.
func Traffic(instanceType string, streams int) Bandwidth {
	in, ok := catalog.Lookup(instanceType)
	switch {
	case !ok || in.NetworkMbps == 0:
		return Bandwidth{Unknown: "the bandwidth of such nodes is not known"}
	case in.EFA > 1:
		return Bandwidth{Unknown: fmt.Sprintf("TCP goes over one of the %d network cards of %s; EFA is measured by NCCL's collectives", in.EFA, instanceType)}
	}
	mbps := min(in.NetworkMbps, max(1, streams)*flowMbps)
	return Bandwidth{
		At: []SizeRate{{0, float64(mbps) / 8e3}}, Confidence: Modelled,
		Source: fmt.Sprintf("the catalogue's baseline of %s, and 5 Gbit/s for a connection outside of placement groups: %s", instanceType, flowPage),
	}
}
