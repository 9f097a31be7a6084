package catalog

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Traits are what an instance type's place in a network and its sale depend on.
type Traits struct {
	// EFA is the number of EFA interfaces; 0 is that there are none.
	EFA int
	// Cards is the number of network cards, at least 1.
	Cards int
	// ClusterGroup says that it can be launched into a cluster placement group.
	ClusterGroup bool
	// Spot and CapacityBlock say that it is sold in these ways.
	Spot, CapacityBlock bool
}

// TraitsOf finds the traits of an instance type. Unlike Lookup, it is false for
// types that EC2's list did not have, so that nothing is said of them.
//
// The tables are EC2's DescribeInstanceTypes, put shortly; testdata/ec2-traits.tsv
// has it in full.
func TraitsOf(instanceType string) (Traits, bool) {
	if o, ok := beside().find(instanceType); ok {
		return o.traits(), true
	}
	family, size, _ := strings.Cut(instanceType, ".")
	n, ok := interfacesOf()[family][size]
	if !ok {
		return Traits{}, false
	}
	among := func(list []string) bool { return slices.Contains(list, family) || slices.Contains(list, instanceType) }
	return Traits{
		EFA: n.efa, Cards: n.cards, ClusterGroup: !among(withoutClusterGroup), Spot: !among(withoutSpot), CapacityBlock: among(capacityBlocks),
	}, true
}

// Cards are EC2's numbers of a type's network cards, in order. EC2 counts them from 0 for
// each type that it is known to have; a region's own list may say otherwise of others.
func Cards(instanceType string, count int) []int {
	if o, ok := beside().find(instanceType); ok && len(o.CardIndexes) > 0 {
		return o.CardIndexes
	}
	all := make([]int, max(1, count))
	for i := range all {
		all[i] = i
	}
	return all
}

// interfaces are how many a type has with EFA, and its network cards.
type interfaces struct{ efa, cards int }

// interfacesOf has, for each family that is known, its sizes and their interfaces.
var interfacesOf = sync.OnceValue(func() map[string]map[string]interfaces {
	all := map[string]map[string]interfaces{}
	for line := range strings.Lines(families) {
		names, sizes, _ := strings.Cut(line, "=")
		have := map[string]interfaces{}
		for size := range strings.FieldsSeq(sizes) {
			name, counts, _ := strings.Cut(size, ":")
			efa, cards, other := strings.Cut(counts, "/")
			var n interfaces
			n.efa, _ = strconv.Atoi(efa)
			if n.cards = max(1, n.efa); other {
				n.cards, _ = strconv.Atoi(cards)
			}
			have[name] = n
		}
		for name := range strings.FieldsSeq(names) {
			all[name] = have
		}
	}
	return all
})

// exists reports whether a family has a size. It is true for families that EC2's
// list did not have.
func exists(family, size string) bool {
	sizes, known := interfacesOf()[family]
	if !known {
		return true
	}
	_, ok := sizes[size]
	return ok
}
