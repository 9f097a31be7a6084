package stack

import (
	"slices"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
)

// kinds of network interfaces, as EC2 calls them. The plain one has no name.
const (
	efaBoth = "efa"
	efaOnly = "efa-only"
)

// card is a network interface of a node: where it sits, and what it is.
type card struct {
	card, device int
	kind         string
}

// interfaces are a node's. The first is plain and has the node's address; with EFA
// every card has an efa-only one beside, which takes no address. This is how
// ParallelCluster 3.16 does it; DevSettings/EfaInterfaceType: efa is its old way.
func interfaces(c *spec.Cluster, r spec.ComputeResource) []card {
	t := leastTraits(r.InstanceTypes)
	old, on := c.EFAInterfaceType == efaBoth, r.EFA
	narrow := oneInterfaceACard(r.InstanceTypes)
	firstHasEFA := t.EFA >= t.Cards
	all := []card{{}}
	switch {
	case !on || !firstHasEFA:
	case old || narrow:
		all[0].kind = efaBoth
	default:
		all = append(all, card{device: 1, kind: efaOnly})
	}
	for _, index := range cardsOf(r.InstanceTypes)[1:] {
		c := card{card: index, device: 1}
		if narrow {
			c.device = 0
		}
		switch {
		case on && old:
			c.kind = efaBoth
		case on:
			c.kind = efaOnly
		}
		all = append(all, c)
	}
	return all
}

// leastTraits are those that all types have.
func leastTraits(types []string) catalog.Traits {
	least := catalog.Traits{Cards: 1}
	for i, name := range types {
		t, ok := catalog.TraitsOf(name)
		if !ok {
			known, _ := catalog.Lookup(name)
			t = catalog.Traits{EFA: known.EFA, Cards: max(1, known.EFA)}
		}
		if i == 0 {
			least = t
			continue
		}
		least.EFA, least.Cards = min(least.EFA, t.EFA), min(least.Cards, t.Cards)
	}
	return least
}

// cardsOf are the numbers of the network cards that all types have. Each has the first,
// which EC2 numbers 0.
func cardsOf(types []string) []int {
	least := leastTraits(types).Cards
	var common []int
	for i, name := range types {
		has := catalog.Cards(name, least)
		if i == 0 {
			common = slices.Clone(has)
			continue
		}
		common = slices.DeleteFunc(common, func(index int) bool { return !slices.Contains(has, index) })
	}
	return append([]int{0}, slices.DeleteFunc(common, func(index int) bool { return index == 0 })...)
}

// oneInterfaceACard reports whether one of the types takes one interface on each
// card. EC2's DescribeInstanceTypes says so of hpc6id alone.
func oneInterfaceACard(types []string) bool {
	for _, name := range types {
		if name == "hpc6id.32xlarge" {
			return true
		}
	}
	return false
}

// poolSubnets are those of a pool of login nodes: public ones in our own network.
func (m *maker) poolSubnets(p spec.LoginPool) []value {
	if m.net.ours {
		return m.net.public[:min(1, len(m.net.public))]
	}
	return existingAll(p.Networking.Subnets)
}
