package catalog

import (
	"slices"
	"strings"
)

// HasDisks reports whether machines of a type have disks of their own. Where the
// type is derived, its family says so: a d among its attributes, letters of
// storage families, or an old family that has them without saying so. The rule
// agrees with every family of EC2's DescribeInstanceTypes of 2026-08-02.
// https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html
func (i Instance) HasDisks() bool {
	if !i.Derived {
		return i.NVMeGB > 0
	}
	name, _, _ := strings.Cut(i.Type, ".")
	f, ok := parseFamily(name)
	return ok && (strings.Contains(f.attributes, "d") ||
		slices.Contains([]string{"i", "im", "is", "d", "h", "f", "z"}, f.letters) ||
		slices.Contains([]string{"c1", "c3", "m1", "m2", "m3", "r3", "x1", "x1e"}, name))
}
