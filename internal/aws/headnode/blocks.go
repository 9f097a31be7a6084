package headnode

import (
	"context"
	"errors"

	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/nodes"
	"github.com/muster-hpc/muster/internal/fleet"
)

// blocksOf asks for the capacity blocks that compute resources come from. It is nil
// if there are none.
func blocksOf(cloud *api.Account, all []nodes.Resource) func(context.Context) ([]fleet.Block, error) {
	var blocks []fleet.Block
	for _, r := range all {
		if r.Capacity == "CAPACITY_BLOCK" && r.Reservation != "" {
			blocks = append(blocks, fleet.Block{ID: r.Reservation, Resource: r.Resource})
		}
	}
	if len(blocks) == 0 {
		return nil
	}
	return func(ctx context.Context) ([]fleet.Block, error) {
		list := make([]fleet.Block, len(blocks))
		for i, b := range blocks {
			found, err := cloud.Reservations(ctx, []string{b.ID})
			// EC2 forgets blocks some time after their end: no more than inactive.
			if refusal, ok := errors.AsType[*api.Refusal](err); err != nil && (!ok || refusal.Code != "InvalidCapacityReservationId.NotFound") {
				return nil, err
			}
			r := found[b.ID]
			b.Active, b.Start, b.End = r.State == "active", r.Start, r.End
			list[i] = b
		}
		return list, nil
	}
}
