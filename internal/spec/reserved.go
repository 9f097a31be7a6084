package spec

import (
	"fmt"
	"slices"
	"strings"
)

// Untyped are the capacity reservations to which compute resources leave their instance
// types, by ID. A file that is whole, or has errors, has none.
func (f *File) Untyped() []string {
	_, ids := f.untyped()
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Typed is the file with the instance types that it leaves to capacity reservations, by
// their IDs.
func (f *File) Typed(types map[string]string) (*File, error) {
	for {
		resources, ids := f.untyped()
		if len(ids) == 0 {
			return f, nil
		}
		resource, kind := resources[0], types[ids[0]]
		fix := resource.Insert("InstanceType", kind)
		if fix == nil || kind == "" {
			return nil, fmt.Errorf("compute resource %s leaves its instance type to the capacity reservation %s: write InstanceType: %s below it", resource.Key("Name").Text(), ids[0], kind)
		}
		text := f.data
		for _, e := range slices.Backward(fix.Edits) {
			text = slices.Concat(text[:e.Start], []byte(e.Text), text[e.End:])
		}
		f = OpenText(f.doc.name, text, Options{AWS: f.doc.aws})
	}
}

// untyped are the compute resources that have no instance type, each with its reservation.
func (f *File) untyped() (resources []View, reservations []string) {
	root, ok := f.Root()
	if !ok || f.Cluster != nil || f.Problems.HasErrors() {
		return nil, nil
	}
	for _, q := range root.At("Scheduling.SlurmQueues").Items() {
		for _, r := range q.Key("ComputeResources").Items() {
			id := r.At("CapacityReservationTarget.CapacityReservationId").Text()
			if !r.Key("InstanceType").Present() && !r.Key("Instances").Present() && strings.HasPrefix(id, "cr-") {
				resources, reservations = append(resources, r), append(reservations, id)
			}
		}
	}
	return resources, reservations
}
