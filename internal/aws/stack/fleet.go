package stack

import (
	"slices"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/spec"
)

// queue is a queue of the file with what it is made of.
type queue struct {
	view      spec.View
	name      string
	resources []resource
}

// resource is a compute resource.
type resource struct {
	view spec.View
	name string
	// types are its instance types; several says that the file has Instances, so that
	// the fleet chooses the type of each node.
	types   []string
	several bool
}

// pool is a pool of login nodes.
type pool struct {
	view spec.View
	name string
}

func (m *maker) queues() []queue {
	var all []queue
	for _, v := range m.file.At("Scheduling.SlurmQueues").Items() {
		q := queue{view: v, name: v.Key("Name").Text()}
		for _, r := range v.Key("ComputeResources").Items() {
			q.resources = append(q.resources, m.resource(q, r))
		}
		all = append(all, q)
	}
	return all
}

// resource is a compute resource of the file. Where it names no type, its
// reservation has one.
func (m *maker) resource(q queue, v spec.View) resource {
	r := resource{view: v, name: v.Key("Name").Text(), several: len(v.Key("Instances").Items()) > 0}
	for _, item := range v.Key("Instances").Items() {
		r.types = append(r.types, item.Key("InstanceType").Text())
	}
	if single := v.Key("InstanceType"); single.Present() {
		r.types = []string{single.Text()}
	}
	if len(r.types) == 0 {
		if known, ok := m.facts.Reservations[r.target(q).Key("CapacityReservationId").Text()]; ok {
			r.types = []string{known.InstanceType}
		}
	}
	return r
}

func (m *maker) pools() []pool {
	var all []pool
	for _, v := range m.file.At("LoginNodes.Pools").Items() {
		all = append(all, pool{view: v, name: v.Key("Name").Text()})
	}
	return all
}

// efa reports whether nodes talk over EFA.
func (r resource) efa() bool { return r.view.At("Efa.Enabled").Bool() }

// target is where the file says which reservation is used: at the compute resource,
// or else at its queue.
func (r resource) target(q queue) spec.View {
	if own := r.view.Key("CapacityReservationTarget"); own.Present() {
		return own
	}
	return q.view.Key("CapacityReservationTarget")
}

// groupOf is the placement group of a compute resource: its name if one is named,
// and whether there is one. What the compute resource says goes before its queue.
func (m *maker) groupOf(q queue, r resource) (name string, there bool) {
	v := q.view.At("Networking.PlacementGroup")
	if own := r.view.At("Networking.PlacementGroup"); own.Present() {
		v = own
	}
	for _, key := range []string{"Name", "Id"} {
		if text := v.Key(key).Text(); text != "" {
			return text, true
		}
	}
	return "", v.Key("Enabled").Bool()
}

// kinds of network interfaces, as EC2 calls them. The plain one has no name.
const (
	plain   = ""
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
func (m *maker) interfaces(r resource) []card {
	t := leastTraits(r.types)
	old := m.file.At("DevSettings.EfaInterfaceType").Text() == efaBoth
	on := r.efa()
	narrow := oneInterfaceACard(r.types)
	firstHasEFA := t.EFA >= t.Cards
	all := []card{{}}
	switch {
	case !on || !firstHasEFA:
	case old || narrow:
		all[0].kind = efaBoth
	default:
		all = append(all, card{device: 1, kind: efaOnly})
	}
	for _, index := range cardsOf(r.types)[1:] {
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
func (m *maker) poolSubnets(p pool) []value {
	if m.net.ours {
		return m.net.public[:min(1, len(m.net.public))]
	}
	var out []value
	for _, id := range p.view.At("Networking.SubnetIds").Texts() {
		out = append(out, existing(id))
	}
	return out
}
