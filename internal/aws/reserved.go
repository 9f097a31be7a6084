package aws

import (
	"context"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/inventory"
	"github.com/muster-hpc/muster/internal/spec"
)

// Typed is a cluster file with the instance types that it leaves to its capacity
// reservations: AWS is asked for them, and machines read them in the file. One that
// leaves none is returned as it is. What was found of the reservations is returned, too.
func Typed(ctx context.Context, a *api.Account, f *spec.File) (*spec.File, map[string]inventory.Reservation, error) {
	found, err := a.Reservations(ctx, f.Untyped())
	if err != nil {
		return nil, nil, err
	}
	types := map[string]string{}
	for id, r := range found {
		types[id] = r.InstanceType
	}
	f, err = f.Typed(types)
	return f, found, err
}
