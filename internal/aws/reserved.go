package aws

import (
	"context"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/spec"
)

// Typed is a cluster file with the instance types that it leaves to its capacity
// reservations: AWS is asked for them, and machines read them in the file. One that
// leaves none is returned as it is.
func Typed(ctx context.Context, a *api.Account, f *spec.File) (*spec.File, error) {
	found, err := a.Reservations(ctx, f.Untyped())
	if err != nil {
		return nil, err
	}
	types := map[string]string{}
	for id, r := range found {
		types[id] = r.InstanceType
	}
	return f.Typed(types)
}
