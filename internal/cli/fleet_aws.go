package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/aws"
)

// fleetOf runs here what is about a fleet on this machine, and asks the head node of a
// cluster on AWS by way of its bucket: that works from everywhere.
func (a *app) fleetOf(here, there func(ctx context.Context, w where) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, _ []string) error {
		if inside() {
			return here(c.Context(), where{})
		}
		w, err := a.find("")
		if err != nil {
			return err
		}
		if w.place == onAWS {
			return there(c.Context(), w)
		}
		return here(c.Context(), w)
	}
}

// orderFleetAWS has the head node of a cluster on AWS stop or start its fleet.
func (a *app) orderFleetAWS(ctx context.Context, w where, want string, now bool) error {
	if w.record.Adopted != nil {
		return fmt.Errorf("cluster %s is ParallelCluster's: `pcluster update-compute-fleet -n %s -r %s --status %s`", w.name, w.name, w.record.Region,
			map[string]string{"running": "START_REQUESTED", "stopped": "STOP_REQUESTED"}[want])
	}
	acc, err := w.accountOf(ctx)
	if err != nil {
		return err
	}
	return aws.Fleet(ctx, aws.FleetOptions{Name: w.name, Account: acc, Want: want, Now: now, Why: "muster fleet from another machine", Report: a.reporter()})
}
