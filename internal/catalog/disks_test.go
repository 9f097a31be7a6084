package catalog_test

import (
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/catalog"
)

// Families of EC2's DescribeInstanceTypes of 2026-08-02 by InstanceStorageSupported.
// https://github.com/getmoto/moto/blob/0af643a5/moto/ec2/resources/instance_types.json
const (
	withDisks = `c3 c5ad c5d c6gd c6id c7gd c8gd c8id c9gd d2 d3 d3en f2 g4dn g5 g6 g6e h1 hpc6id i2 i3 i3en i4g i4i
		i7i i7ie i8g i8ge im4gn is4gen m3 m5ad m5d m5dn m6gd m6id m6idn m7gd m8gd m8id m8idb m8idn m9gd p3dn p4d p4de p5
		p5e p5en p6-b200 p6-b300 r3 r5ad r5d r5dn r6gd r6id r6idn r7gd r8gd r8id r8idb r8idn trn1 trn1n trn2 x1 x1e
		x2gd x2idn x2iedn x8aedz z1d`
	withoutDisks = `a1 c4 c5 c5a c5n c6a c6g c6gn c6i c6in c7a c7g c7gn c7i c7i-flex c8a c8g c8gb c8gn c8i c8i-flex c8ib
		c8in c9g g5g hpc6a hpc7a hpc7g hpc8a inf1 inf2 m4 m5 m5a m5n m5zn m6a m6g m6i m6in m7a m7g m7i m7i-flex m8a m8azn
		m8g m8gb m8gn m8i m8i-flex m8ib m8in m9g r4 r5 r5a r5b r5n r6a r6g r6i r6in r7a r7g r7i r7iz r8a r8g r8gb r8gn r8i
		r8i-flex r8ib r8in t2 t3 t3a t4g u-3tb1 u-6tb1 u7i-12tb u7in-16tb x2iezn x8g x8i`
)

func TestHasDisks(t *testing.T) {
	sizes := []string{"large", "xlarge", "4xlarge", "16xlarge", "24xlarge", "48xlarge", "56xlarge", "96xlarge", "112xlarge", "224xlarge", "32xlarge"}
	for want, families := range map[bool]string{true: withDisks, false: withoutDisks} {
		for family := range strings.FieldsSeq(families) {
			found := 0
			for _, size := range sizes {
				in, ok := catalog.Lookup(family + "." + size)
				if !ok {
					continue
				}
				found++
				if in.HasDisks() != want {
					t.Errorf("%s: got %v, want %v", in.Type, in.HasDisks(), want)
				}
			}
			if found == 0 {
				t.Errorf("%s: no size is known", family)
			}
		}
	}
}
