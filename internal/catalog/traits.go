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
// families that EC2's list did not have, so that nothing is said of them.
//
// The tables are EC2's DescribeInstanceTypes of 2026-08-02, put shortly;
// testdata/ec2-traits.tsv has it in full.
func TraitsOf(instanceType string) (Traits, bool) {
	family, size, _ := strings.Cut(instanceType, ".")
	efa, ok := efaOf()[family]
	if !ok {
		return Traits{}, false
	}
	t := Traits{
		EFA: efa[size], Cards: max(1, efa[size]), ClusterGroup: !slices.Contains(withoutClusterGroup, family),
		CapacityBlock: slices.Contains(capacityBlocks, instanceType), Spot: sellsSpot(family, instanceType),
	}
	if family == "p6-b300" {
		t.Cards++ // the first card has no EFA
	}
	return t, true
}

// efaSizes are families and those of their sizes that have EFA, with the number
// of interfaces where it is more than one. Every interface has its own card.
const efaSizes = `
c5n = 9xlarge 18xlarge metal
c6a m6a r6a = 48xlarge metal
c6gn i4g im4gn = 16xlarge
c6i c6id i4i m6i m6id r6i r6id x2idn x2iedn = 32xlarge metal
c6in m6idn m6in r6idn r6in = 32xlarge:2 metal:2
c7a c7i c8a c9g c9gd i7ie i8g i8ge m7a m7i m8a m9g m9gd r7a r7i r8a = 48xlarge metal-48xl
c7g c7gd c7gn m7g m7gd r7g r7gd = 16xlarge metal
c8g c8gd m8g m8gd r8g r8gd x8g = 24xlarge 48xlarge metal-24xl metal-48xl
c8gb c8gn m8gb m8gn r8gb r8gn = 16xlarge 24xlarge 48xlarge:2 metal-24xl metal-48xl:2
c8i c8id m8i m8id r8i r8id = 48xlarge 96xlarge metal-48xl metal-96xl
c8ib c8in m8ib m8idb m8idn m8in r8ib r8idb r8idn r8in = 48xlarge 96xlarge:2 metal-48xl metal-96xl:2
dl2q inf1 p3dn vt1 = 24xlarge
f2 hpc6a = 48xlarge
g4dn = 8xlarge 12xlarge 16xlarge metal
g5 g6 = 8xlarge 12xlarge 16xlarge 24xlarge 48xlarge
g6e = 8xlarge 12xlarge 16xlarge 24xlarge:2 48xlarge:4
g7 = 8xlarge 12xlarge 24xlarge 48xlarge:2
g7e = 8xlarge 12xlarge 24xlarge:2 48xlarge:4
gr6 = 8xlarge
hpc6id = 32xlarge:2
hpc7a = 12xlarge:2 24xlarge:2 48xlarge:2 96xlarge:2
hpc7g = 4xlarge 8xlarge 16xlarge
hpc8a = 96xlarge:2
i3en = 12xlarge 24xlarge metal
i7i = 24xlarge 48xlarge metal-48xl
m5dn m5n r5dn r5n = 24xlarge metal
m5zn x2iezn = 12xlarge metal
m8azn x8aedz = 24xlarge metal-24xl
p4d p4de = 24xlarge:4
p5 = 4xlarge 48xlarge:32
p5e = 48xlarge:32
p5en p6-b300 = 48xlarge:16
p6-b200 = 48xlarge:8
r7iz = 32xlarge metal-32xl
trn1 = 32xlarge:8
trn1n = 32xlarge:16
trn2 = 3xlarge 48xlarge:16
u7i-12tb = 224xlarge
u7i-6tb u7i-8tb = 112xlarge
u7in-16tb u7in-24tb u7in-32tb = 224xlarge:2
x8i = 48xlarge 64xlarge 96xlarge metal-48xl metal-96xl
`

// withoutEFA are families that have no EFA in any size.
const withoutEFA = `
a1 c1 c3 c4 c5 c5a c5ad c5d c6g c6gd c7i-flex c8i-flex c8ine d2 d3 d3en g4ad g5g g6f gr6f h1 i2 i3 inf2 is4gen
m1 m2 m3 m4 m5 m5a m5ad m5d m6g m6gd m7i-flex m8i-flex m8ine r3 r4 r5 r5a r5ad r5b r5d r6g r6gd r8i-flex t1 t2
t3 t3a t4g u-3tb1 u-6tb1 x1 x1e x2gd z1d
`

// efaOf has, for each family that is known, the EFA interfaces of its sizes.
var efaOf = sync.OnceValue(func() map[string]map[string]int {
	all := map[string]map[string]int{}
	for family := range strings.FieldsSeq(withoutEFA) {
		all[family] = nil
	}
	for line := range strings.Lines(efaSizes) {
		families, sizes, _ := strings.Cut(line, "=")
		have := map[string]int{}
		for size := range strings.FieldsSeq(sizes) {
			name, count, several := strings.Cut(size, ":")
			have[name] = 1
			if several {
				have[name], _ = strconv.Atoi(count)
			}
		}
		for family := range strings.FieldsSeq(families) {
			all[family] = have
		}
	}
	return all
})

// withoutClusterGroup are families that EC2 does not put into cluster placement
// groups.
var withoutClusterGroup = []string{
	"c1", "c7i-flex", "c8i-flex", "m1", "m2", "m3", "m7i-flex", "m8i-flex", "r8i-flex", "t1", "t2", "t3", "t3a", "t4g", "vt1",
}

// capacityBlocks are the types that capacity blocks are sold of.
var capacityBlocks = []string{
	"p4d.24xlarge", "p4de.24xlarge", "p5.48xlarge", "p5.4xlarge", "p5e.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge",
	"p6-b300.48xlarge", "trn1.32xlarge", "trn2.3xlarge", "trn2.48xlarge",
}

// sellsSpot reports whether a type is sold as spot capacity: all but those for
// HPC and high memory, and a few more.
func sellsSpot(family, instanceType string) bool {
	return !strings.HasPrefix(family, "hpc") && !strings.HasPrefix(family, "u") &&
		family != "c8ine" && family != "m8ine" && instanceType != "t2.nano"
}
