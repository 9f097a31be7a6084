package inventory

import (
	"cmp"
	"fmt"
)

// Has reports whether a thing of a subject exists, and its fault.
func (i Inventory) Has(subject, name string) (ok bool, wrong string) {
	has := map[string]func(name string) bool{
		"aws/subnet": in(i.Subnets), "aws/security-group": in(i.SecurityGroups), "aws/elastic-ip": in(i.Addresses),
		"aws/placement-group": in(i.PlacementGroups), "aws/key-pair": in(i.KeyPairs), "aws/image": in(i.Images),
		"aws/file-system": in(i.FileSystems), "aws/reservation": in(i.Reservations), "aws/snapshot": in(i.Snapshots),
		"aws/bucket": in(i.Buckets), "aws/hosted-zone": in(i.HostedZones),
	}[subject]
	if has != nil {
		return has(name), ""
	}
	wrong, ok = i.Others[subject][name]
	return ok, wrong
}

func in[T any](all map[string]T) func(name string) bool {
	return func(name string) bool {
		_, ok := all[name]
		return ok
	}
}

// Why is the reason why it is not known whether a thing exists.
func (i Inventory) Why(subject, name string) string {
	return cmp.Or(i.Unasked[subject], i.Hidden[subject][name], fmt.Sprintf("it does not exist, or account %s may not see it", i.Account))
}
