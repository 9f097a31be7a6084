package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/spec"
)

// Typed is the text of a cluster file with the instance types that it leaves to its
// capacity reservations: AWS is asked for them, and machines read them in the file. One
// that leaves none is returned as it is.
func Typed(ctx context.Context, a *api.Account, path string, text []byte) ([]byte, error) {
	for {
		f := spec.OpenText(path, text, spec.Options{AWS: true})
		root, ok := f.Root()
		if !ok || f.Cluster != nil || f.Problems.HasErrors() {
			return text, nil
		}
		resource, id := untyped(root)
		if id == "" {
			return text, nil
		}
		found, err := a.Reservations(ctx, []string{id})
		if err != nil {
			return nil, err
		}
		fix := resource.Insert("InstanceType", found[id].InstanceType)
		if fix == nil || found[id].InstanceType == "" {
			return nil, fmt.Errorf("compute resource %s leaves its instance type to the capacity reservation %s: write InstanceType: %s below it", resource.Key("Name").Text(), id, found[id].InstanceType)
		}
		for _, e := range slices.Backward(fix.Edits) {
			text = slices.Concat(text[:e.Start], []byte(e.Text), text[e.End:])
		}
	}
}

// untyped is the first compute resource that has no instance type, and its reservation.
func untyped(root spec.View) (resource spec.View, reservation string) {
	for _, q := range root.At("Scheduling.SlurmQueues").Items() {
		for _, r := range q.Key("ComputeResources").Items() {
			id := r.At("CapacityReservationTarget.CapacityReservationId").Text()
			if !r.Key("InstanceType").Present() && !r.Key("Instances").Present() && strings.HasPrefix(id, "cr-") {
				return r, id
			}
		}
	}
	return spec.View{}, ""
}
