package cause

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/job/ras"
)

// hang looks at a run that was ended because it stood still.
func (c *court) hang() {
	c.ranks()
	if c.Hang == nil {
		return
	}
	h := *c.Hang
	says := "it came no further for " + h.Silent.Round(time.Second).String()
	if h.Limit > 0 {
		says += ", and may be " + h.Limit.Round(time.Second).String() + " without a step"
	}
	c.add(finding{class: Hung, detail: says, place: "log"})
	if h.Text != "" {
		c.add(finding{class: Unknown, text: oneLine(h.Text), weak: true})
	}
	nodes := c.still(h)
	if len(nodes) != 1 || len(c.Run.Nodes) < 2 {
		return // of many that stand still nobody knows who was first
	}
	c.add(finding{class: Hung, detail: "it stood still on " + nodes[0], place: "node " + nodes[0], node: nodes[0], reason: "the job stood still there"})
}

// still are the nodes where the run stands still, by the strongest evidence that there is: what was seen of its processes, then
// who does not answer NCCL, then who has begun less than others. Ranks that wait for one that is dead may differ in that, too.
func (c *court) still(h Hang) []string {
	nodes := slices.Clone(h.Nodes)
	if c.RAS != nil && len(nodes) == 0 {
		nodes = nodesOf(slices.Concat(c.RAS.Dead, c.RAS.Silent))
	}
	if c.RAS != nil && len(nodes) == 0 {
		nodes = nodesOf(c.RAS.Behind)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// nodesOf are the nodes of ranks, as far as they are known.
func nodesOf(ranks []Rank) []string {
	var nodes []string
	for _, r := range ranks {
		if r.Node != "" {
			nodes = append(nodes, r.Node)
		}
	}
	return nodes
}

// ranks looks at NCCL's own report.
func (c *court) ranks() {
	if c.RAS == nil {
		return
	}
	const place = "NCCL RAS"
	for _, r := range c.RAS.Dead {
		c.add(finding{class: Unknown, text: fmt.Sprintf("NCCL takes rank %d%s for dead", r.Rank, on(r.Node, "")), place: place, weak: true, alike: "dead ranks"})
	}
	for _, r := range c.RAS.Silent {
		c.add(finding{class: Unknown, text: fmt.Sprintf("rank %d%s does not answer NCCL", r.Rank, on(r.Node, "")), place: place, weak: true, alike: "silent ranks"})
	}
	if len(c.RAS.Behind) > 0 {
		c.add(finding{class: Unknown, text: "others wait for ranks that have begun fewer operations: " + list(c.RAS.Behind), place: place, weak: true})
	}
	if c.RAS.Frozen {
		c.add(finding{class: Unknown, text: "no rank has begun a collective operation between NCCL's last reports", place: place, weak: true})
	}
	if c.RAS.Text != "" {
		c.add(finding{class: Unknown, text: oneLine(c.RAS.Text), place: place, weak: true})
	}
}

// RanksOf are the ranks that are not well, by what NCCL said last and before. Its hosts are
// addresses, most often: nodes are the names that belong to them.
func RanksOf(s ras.Stand, nodes map[string]string) *Ranks {
	named := func(all []ras.Process) []Rank {
		var out []Rank
		for _, p := range all {
			node, ok := nodes[p.Host]
			if !ok {
				node = p.Host
			}
			out = append(out, Rank{Rank: p.Rank, Node: node})
		}
		return out
	}
	r := &Ranks{Silent: named(s.Silent), Dead: named(s.Dead), Frozen: s.Known && s.Frozen}
	if r.Frozen {
		r.Behind = named(s.Behind) // else they only come a little later
	}
	return r
}

// list names some ranks, and says how many more there are.
func list(ranks []Rank) string {
	const most = 4
	var parts []string
	for _, r := range ranks[:min(len(ranks), most)] {
		parts = append(parts, fmt.Sprintf("rank %d%s", r.Rank, on(r.Node, "")))
	}
	if more := len(ranks) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}
