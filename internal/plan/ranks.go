package plan

import (
	"fmt"
	"strings"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/say/count"
)

// Rank is a process of a training job: one for each GPU, node after node.
type Rank struct {
	Rank      int    `json:"rank"`
	Node      string `json:"node"`
	LocalRank int    `json:"local_rank"`
	// GPU is the device of the node.
	GPU int `json:"gpu"`
}

// Ranks are a model's ranks in order. There are none if the file does not say
// how many nodes it has, or if its nodes have no GPUs.
func (t Trained) Ranks() []Rank {
	var all []Rank
	for _, s := range t.slots {
		count := s.node.GPUs
		if t.Part {
			count = t.GPUs
		}
		for local := range count {
			all = append(all, Rank{Rank: len(all), Node: s.name.String(), LocalRank: local, GPU: t.FirstGPU + local})
		}
	}
	return all
}

// Path is how two ranks reach each other.
type Path struct {
	From Rank `json:"from"`
	To   Rank `json:"to"`
	// Over is NVLink, PCIe, EFA, the ordinary network, or empty if that is not known.
	Over string `json:"over,omitempty"`
	// GBps is what one GPU can send and receive together over NVLink; NodeGbps is
	// what the whole node carries, GPUGbps one GPU's share of it, each way. 0 is
	// not known.
	GBps     int     `json:"gb_per_second,omitempty"`
	NodeGbps int     `json:"node_gbps,omitempty"`
	GPUGbps  float64 `json:"gpu_gbps,omitempty"`
	What     string  `json:"what"`
	Source   string  `json:"source,omitempty"`
}

// Path finds the path between two ranks of a model. It fails if there is no
// such rank. Of several instance types that nodes can have, it is the slowest.
func (t Trained) Path(from, to int) (Path, error) {
	ranks := t.Ranks()
	for _, r := range []int{from, to} {
		if r < 0 || r >= len(ranks) {
			return Path{}, fmt.Errorf("%s has no rank %d: its ranks are 0 to %d", t.Name, r, len(ranks)-1)
		}
	}
	p := Path{From: ranks[from], To: ranks[to]}
	switch types := strings.Fields(t.slots[0].pool); {
	case from == to:
		p.What = "one and the same GPU"
	case p.From.Node == p.To.Node:
		p.inside(slowestLink(types))
	default:
		p.between(strings.Join(types, or), t.slowest())
	}
	return p, nil
}

// slowestLink is what at least joins the GPUs of one node of some instance types.
func slowestLink(instanceTypes []string) (slowest catalog.Link, known bool) {
	for i, name := range instanceTypes {
		in, _ := catalog.Lookup(name)
		link, ok := in.Links()
		switch {
		case !ok:
			return catalog.Link{}, false
		case i == 0 || link.GBps < slowest.GBps:
			slowest, known = link, true
		}
	}
	return slowest, known
}

// inside is the path between two GPUs of one node.
func (p *Path) inside(link catalog.Link, known bool) {
	switch {
	case !known:
		p.What = "inside the node; what joins its accelerators is not in the catalogue"
	case link.GBps == 0:
		p.Over, p.Source = link.Kind, link.Source
		p.What = "inside the node over PCIe, for these GPUs have no NVLink"
	default:
		p.Over, p.GBps, p.Source = link.Kind, link.GBps, link.Source
		p.What = fmt.Sprintf("inside the node over %s: %d GB/s for each GPU, both directions together", link.Kind, link.GBps)
	}
}

// between is the path between GPUs of two nodes.
func (p *Path) between(instanceTypes string, n Node) {
	gbps := n.networkMbps / 1000
	if gbps == 0 {
		p.What = "between nodes; the network of " + instanceTypes + " is not in the catalogue"
		return
	}
	p.Over, p.Source = "TCP", catalog.Source
	if n.EFAGbps > 0 {
		p.Over = "EFA"
	}
	if p.Over == "TCP" && n.EFAInterfaces > 1 { // one connection uses one of the cards
		p.What = fmt.Sprintf("between nodes over TCP, for the file does not enable EFA: far below the node's %d Gbps", gbps)
		return
	}
	p.NodeGbps, p.GPUGbps = gbps, float64(gbps)/float64(max(1, n.GPUs))
	switch {
	case p.Over == "EFA":
		p.What = fmt.Sprintf("between nodes over EFA: %s with %d Gbps for each node, %.4g Gbps for each GPU, each way",
			count.Of(n.EFAInterfaces, "interface"), gbps, p.GPUGbps)
	case n.EFAInterfaces > 0:
		p.What = fmt.Sprintf("between nodes over TCP, for the file does not enable EFA: at most %d Gbps for each node, each way", gbps)
	default:
		p.What = fmt.Sprintf("between nodes over TCP, for %s has no EFA: at most %d Gbps for each node, each way", instanceTypes, gbps)
	}
}

// slowest is the model's node with the least EFA.
func (t Trained) slowest() Node {
	n := t.slots[0].node
	for _, s := range t.slots {
		if s.node.EFAGbps < n.EFAGbps {
			n = s.node
		}
	}
	return n
}
