package cli

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/cluster"
	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/head"
)

func (a *app) fleetStart() *cobra.Command {
	return &cobra.Command{
		Use:   "start",
		Short: "Let nodes start again, after a stop or after boots that failed",
		Long: `Start makes all queues active again. Nodes that had failed to launch or to boot
for good get another try.`,
		Example: "  muster fleet start",
		Args:    cobra.NoArgs,
		RunE: a.forwarded(func(c *cobra.Command, _ []string) error {
			client, err := a.controllerHere()
			if err != nil {
				return err
			}
			if err := orderFleet(c.Context(), client, "start", struct{}{}); err != nil {
				return err
			}
			fmt.Fprintln(a.err, "The fleet runs. `muster status` shows it.")
			return nil
		}),
	}
}

func (a *app) fleetStop() *cobra.Command {
	var now, yes bool
	c := &cobra.Command{
		Use:   "stop",
		Short: "Start no more jobs, and end the nodes",
		Long: `Stop makes all queues inactive: jobs that wait go on waiting, and Slurm takes no
new ones. Nodes end when their jobs have ended, static nodes too. With --now they
end at once; their jobs go back into the queue and start anew after "muster fleet
start".`,
		Example: "  muster fleet stop\n  muster fleet stop --now --yes",
		Args:    cobra.NoArgs,
		RunE: a.forwarded(func(c *cobra.Command, _ []string) error {
			client, err := a.controllerHere()
			if err != nil {
				return err
			}
			if now && !yes {
				if err := a.confirm("End all nodes now? Their jobs start anew later."); err != nil {
					return err
				}
			}
			if err := orderFleet(c.Context(), client, "stop", controller.StopRequest{Now: now}); err != nil {
				return err
			}
			fmt.Fprintln(a.err, "The fleet stops. `muster status` shows how far it is, `muster fleet start` lets it run again.")
			return nil
		}),
	}
	c.Flags().BoolVar(&now, "now", false, "do not wait for jobs to end")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

func orderFleet(ctx context.Context, client *http.Client, verb string, request any) error {
	ctx, cancel := context.WithTimeout(ctx, handOverWait)
	defer cancel()
	if err := post(ctx, client, "fleet/"+verb, request); err != nil {
		return fmt.Errorf("%s the fleet: %w", verb, err)
	}
	return nil
}

// controllerHere speaks to the cluster's controller, on the host and on the head
// node.
func (a *app) controllerHere() (*http.Client, error) {
	if guest() {
		return nil, errTheirs
	}
	if inside() {
		return cluster.SocketClient(head.RunDir, "controller.sock"), nil
	}
	l, _, _, err := a.running()
	if err != nil {
		return nil, err
	}
	return cluster.ControllerClient(l), nil
}
