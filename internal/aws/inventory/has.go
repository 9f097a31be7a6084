package inventory

import (
	"cmp"
	"fmt"
)

// Has tells whether a thing of a subject exists, and what is wrong with it.
func (i Inventory) Has(subject, name string) (ok bool, wrong string) {
	switch subject {
	case "aws/subnet":
		_, ok = i.Subnets[name]
	case "aws/security-group":
		_, ok = i.SecurityGroups[name]
	case "aws/elastic-ip":
		_, ok = i.Addresses[name]
	case "aws/placement-group":
		_, ok = i.PlacementGroups[name]
	case "aws/key-pair":
		_, ok = i.KeyPairs[name]
	case "aws/image":
		_, ok = i.Images[name]
	case "aws/file-system":
		_, ok = i.FileSystems[name]
	case "aws/reservation":
		_, ok = i.Reservations[name]
	case "aws/snapshot":
		_, ok = i.Snapshots[name]
	case "aws/bucket":
		_, ok = i.Buckets[name]
	case "aws/hosted-zone":
		_, ok = i.HostedZones[name]
	default:
		wrong, ok = i.Others[subject][name]
	}
	return ok, wrong
}

// Why says why nothing is known of a thing.
func (i Inventory) Why(subject, name string) string {
	return cmp.Or(i.Unasked[subject], i.Hidden[subject][name], fmt.Sprintf("it does not exist, or account %s may not see it", i.Account))
}
