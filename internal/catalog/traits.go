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
// The tables are EC2's DescribeInstanceTypes of 2026-08-02, put shortly;
// testdata/ec2-traits.tsv has it in full.
func TraitsOf(instanceType string) (Traits, bool) {
	if o, ok := beside().find(instanceType); ok {
		return o.traits(), true
	}
	family, size, _ := strings.Cut(instanceType, ".")
	efa, ok := efaOf()[family][size]
	if !ok {
		return Traits{}, false
	}
	t := Traits{
		EFA: efa, Cards: max(1, efa), ClusterGroup: !slices.Contains(withoutClusterGroup, family),
		CapacityBlock: slices.Contains(capacityBlocks, instanceType), Spot: sellsSpot(family, instanceType),
	}
	switch family {
	case "p6-b300":
		t.Cards++ // the first card has no EFA
	case "p6e-gb200":
		t.Cards = 17 // every other one has EFA
	}
	return t, true
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

// families are EC2's families and their sizes, with the number of EFA interfaces
// where there are some. Every interface has its own card.
const families = `
a1 = medium large xlarge 2xlarge 4xlarge metal
c1 = medium xlarge
c3 c4 r3 = large xlarge 2xlarge 4xlarge 8xlarge
c5 c5d = large xlarge 2xlarge 4xlarge 9xlarge 12xlarge 18xlarge 24xlarge metal
c5a c5ad m5a m5ad r5a r5ad = large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge
c5n = large xlarge 2xlarge 4xlarge 9xlarge:1 18xlarge:1 metal:1
c6a m6a r6a = large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 32xlarge 48xlarge:1 metal:1
c6g c6gd m6g m6gd r6g r6gd x2gd = medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge metal
c6gn = medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge:1
c6i c6id i4i m6i m6id r6i r6id = large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 32xlarge:1 metal:1
c6in m6idn m6in r6idn r6in = large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 32xlarge:2 metal:2
c7a m7a r7a = medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 32xlarge 48xlarge:1 metal-48xl:1
c7g c7gd c7gn m7g m7gd r7g r7gd = medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge:1 metal:1
c7i i8g m7i r7i = large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge:1 metal-24xl metal-48xl:1
c7i-flex c8i-flex m7i-flex m8i-flex r8i-flex = large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge
c8a m8a r8a = medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge:1 metal-24xl metal-48xl:1
c8g c8gd m8g m8gd r8g r8gd x8g = medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge:1 48xlarge:1 metal-24xl:1 metal-48xl:1
c8gb c8gn m8gb m8gn r8gb r8gn = medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge:1 24xlarge:1 48xlarge:2 metal-24xl:1 metal-48xl:2
c8i c8id m8i m8id r8i r8id = large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 32xlarge 48xlarge:1 96xlarge:1 metal-48xl:1 metal-96xl:1
c8ib c8in m8ib m8idb m8idn m8in r8ib r8idb r8idn r8in = large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 32xlarge 48xlarge:1 96xlarge:2 metal-48xl:1 metal-96xl:2
c8ine m8ine = large xlarge 2xlarge 4xlarge 8xlarge 12xlarge
c9g c9gd m9g m9gd = medium large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge:1 metal-48xl:1
d2 d3 i2 = xlarge 2xlarge 4xlarge 8xlarge
d3en = xlarge 2xlarge 4xlarge 6xlarge 8xlarge 12xlarge
dl2q p3dn = 24xlarge:1
f2 = 6xlarge 12xlarge 48xlarge:1
g4ad = xlarge 2xlarge 4xlarge 8xlarge 16xlarge
g4dn = xlarge 2xlarge 4xlarge 8xlarge:1 12xlarge:1 16xlarge:1 metal:1
g5 g6 = xlarge 2xlarge 4xlarge 8xlarge:1 12xlarge:1 16xlarge:1 24xlarge:1 48xlarge:1
g5g = xlarge 2xlarge 4xlarge 8xlarge 16xlarge metal
g6e = xlarge 2xlarge 4xlarge 8xlarge:1 12xlarge:1 16xlarge:1 24xlarge:2 48xlarge:4
g6f = large xlarge 2xlarge 4xlarge
g7 = 2xlarge 4xlarge 8xlarge:1 12xlarge:1 24xlarge:1 48xlarge:2
g7e = 2xlarge 4xlarge 8xlarge:1 12xlarge:1 24xlarge:2 48xlarge:4
gr6 = 4xlarge 8xlarge:1
gr6f = 4xlarge
h1 = 2xlarge 4xlarge 8xlarge 16xlarge
hpc6a = 48xlarge:1
hpc6id = 32xlarge:2
hpc7a = 12xlarge:2 24xlarge:2 48xlarge:2 96xlarge:2
hpc7g = 4xlarge:1 8xlarge:1 16xlarge:1
hpc8a = 96xlarge:2
i3 r4 = large xlarge 2xlarge 4xlarge 8xlarge 16xlarge
i3en = large xlarge 2xlarge 3xlarge 6xlarge 12xlarge:1 24xlarge:1 metal:1
i4g im4gn = large xlarge 2xlarge 4xlarge 8xlarge 16xlarge:1
i7i = large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge:1 48xlarge:1 metal-24xl metal-48xl:1
i7ie i8ge = large xlarge 2xlarge 3xlarge 6xlarge 12xlarge 18xlarge 24xlarge 48xlarge:1 metal-24xl metal-48xl:1
inf1 = xlarge 2xlarge 6xlarge 24xlarge:1
inf2 = xlarge 8xlarge 24xlarge 48xlarge
is4gen = medium large xlarge 2xlarge 4xlarge 8xlarge
m1 = small medium large xlarge
m2 = xlarge 2xlarge 4xlarge
m3 = medium large xlarge 2xlarge
m4 = large xlarge 2xlarge 4xlarge 10xlarge 16xlarge
m5 m5d r5 r5b r5d = large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge metal
m5dn m5n r5dn r5n = large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge:1 metal:1
m5zn = large xlarge 2xlarge 3xlarge 6xlarge 12xlarge:1 metal:1
m8azn = medium large xlarge 3xlarge 6xlarge 12xlarge 24xlarge:1 metal-12xl metal-24xl:1
p4d p4de = 24xlarge:4
p5 = 4xlarge:1 48xlarge:32
p5e = 48xlarge:32
p5en p6-b300 = 48xlarge:16
p6-b200 = 48xlarge:8
p6e-gb200 = 36xlarge:8
r7iz = large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 32xlarge:1 metal-16xl metal-32xl:1
t1 = micro
t2 t3 t3a t4g = nano micro small medium large xlarge 2xlarge
trn1 = 2xlarge 32xlarge:8
trn1n = 32xlarge:16
trn2 = 3xlarge:1 48xlarge:16
trn2u = 48xlarge:16
u-3tb1 = 56xlarge
u-6tb1 = 56xlarge 112xlarge
u7i-12tb = 224xlarge:1
u7i-6tb u7i-8tb = 112xlarge:1
u7in-16tb u7in-24tb u7in-32tb = 224xlarge:2
vt1 = 3xlarge 6xlarge 24xlarge:1
x1 = 16xlarge 32xlarge
x1e = xlarge 2xlarge 4xlarge 8xlarge 16xlarge 32xlarge
x2idn = 16xlarge 24xlarge 32xlarge:1 metal:1
x2iedn = xlarge 2xlarge 4xlarge 8xlarge 16xlarge 24xlarge 32xlarge:1 metal:1
x2iezn = 2xlarge 4xlarge 6xlarge 8xlarge 12xlarge:1 metal:1
x8aedz = large xlarge 3xlarge 6xlarge 12xlarge 24xlarge:1 metal-12xl metal-24xl:1
x8i = large xlarge 2xlarge 4xlarge 8xlarge 12xlarge 16xlarge 24xlarge 32xlarge 48xlarge:1 64xlarge:1 96xlarge:1 metal-48xl:1 metal-96xl:1
z1d = large xlarge 2xlarge 3xlarge 6xlarge 12xlarge metal
`

// efaOf has, for each family that is known, its sizes and their EFA interfaces.
var efaOf = sync.OnceValue(func() map[string]map[string]int {
	all := map[string]map[string]int{}
	for line := range strings.Lines(families) {
		names, sizes, _ := strings.Cut(line, "=")
		have := map[string]int{}
		for size := range strings.FieldsSeq(sizes) {
			name, count, _ := strings.Cut(size, ":")
			have[name], _ = strconv.Atoi(count)
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
	sizes, known := efaOf()[family]
	if !known {
		return true
	}
	_, ok := sizes[size]
	return ok
}

// withoutClusterGroup are families that EC2 does not put into cluster placement
// groups.
var withoutClusterGroup = []string{
	"c1", "c7i-flex", "c8i-flex", "m1", "m2", "m3", "m7i-flex", "m8i-flex", "r8i-flex", "t1", "t2", "t3", "t3a", "t4g", "vt1",
}

// capacityBlocks are the types that capacity blocks are sold of.
var capacityBlocks = []string{
	"p4d.24xlarge", "p4de.24xlarge", "p5.48xlarge", "p5.4xlarge", "p5e.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge",
	"p6-b300.48xlarge", "p6e-gb200.36xlarge", "trn1.32xlarge", "trn2.3xlarge", "trn2.48xlarge", "trn2u.48xlarge",
}

// sellsSpot reports whether a type is sold as spot capacity: all but those for
// HPC and high memory, and a few more.
func sellsSpot(family, instanceType string) bool {
	return !strings.HasPrefix(family, "hpc") && !strings.HasPrefix(family, "u") &&
		family != "c8ine" && family != "m8ine" && family != "p6e-gb200" && family != "trn2u" && instanceType != "t2.nano"
}
