package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/controller/client"
)

// fleetVerbs are what people order.
func (a *app) fleetVerbs() *cobra.Command {
	c := &cobra.Command{
		Use:   "fleet",
		Short: "Stop and start the cluster's nodes",
	}
	c.AddCommand(a.fleetStart(), a.fleetStop())
	return c
}

func (a *app) fleetStart() *cobra.Command {
	return &cobra.Command{
		Use:   "start",
		Short: "Let nodes start again, after a stop or after boots that failed",
		Long: `Start makes all queues active again. Nodes that had failed to launch or to boot
for good get another try.`,
		Example: "  muster fleet start",
		Args:    cobra.NoArgs,
		RunE: a.fleetOf(func(ctx context.Context, w where) error {
			control, err := a.controllerHere()
			if err == nil {
				err = orderFleet(ctx, "start", control.StartFleet)
			}
			return a.fleetAnswers(w, fleetRuns, err)
		}, func(ctx context.Context, w where) error {
			return a.fleetAnswers(w, fleetRuns, a.orderFleetAWS(ctx, w, "running", false))
		}),
	}
}

func (a *app) fleetStop() *cobra.Command {
	var o stopOptions
	c := &cobra.Command{
		Use:   "stop",
		Short: "Start no more jobs, and end the nodes",
		Long: `Stop makes all queues inactive: jobs that wait go on waiting, and Slurm takes no
new ones. Nodes end when their jobs have ended, static nodes too. With --now they
end at once; their jobs go back into the queue and start anew after "muster fleet
start".

On AWS the head node, file systems and the network stay and cost what they did.
The command ends when the head node has heard it; "muster status" shows which
instances still run. Without --now it asks nothing.`,
		Example: "  muster fleet stop\n  muster fleet stop --now --yes",
		Args:    cobra.NoArgs,
		RunE: a.fleetOf(func(ctx context.Context, w where) error {
			control, err := a.controllerHere()
			if err == nil {
				err = a.confirmStop(o)
			}
			if err == nil {
				err = orderFleet(ctx, "stop", func(ctx context.Context) error {
					return control.StopFleet(ctx, client.StopRequest{Now: o.now})
				})
			}
			return a.fleetAnswers(w, fleetStops, err)
		}, func(ctx context.Context, w where) error {
			err := a.confirmStop(o)
			if err == nil {
				err = a.orderFleetAWS(ctx, w, "stopped", o.now)
			}
			return a.fleetAnswers(w, fleetStops, err)
		}),
	}
	c.Flags().BoolVar(&o.now, "now", false, "do not wait for jobs to end")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return c
}

type stopOptions struct{ now, yes bool }

func (a *app) confirmStop(o stopOptions) error {
	if !o.now || o.yes {
		return nil
	}
	return a.confirm("End all nodes now? Their jobs start anew later.")
}

// handOverWait is how long a controller may take to accept something.
const handOverWait = 5 * time.Second

// orderFleet has the controller of this machine start or stop the fleet.
func orderFleet(ctx context.Context, verb string, order func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, handOverWait)
	defer cancel()
	if err := order(ctx); err != nil {
		return fmt.Errorf("%s the fleet: %w", verb, err)
	}
	return nil
}

// fleetAnswer is what `muster fleet start` and `stop` print with -o json.
type fleetAnswer struct {
	// Cluster is absent on a head node.
	Cluster string `json:"cluster,omitempty"`
	// Fleet is "running" or "stopping".
	Fleet string `json:"fleet"`
}

const (
	fleetRuns  = "running"
	fleetStops = "stopping"
)

// fleetAnswers says what the fleet does now, unless there was an error.
func (a *app) fleetAnswers(w where, does string, err error) error {
	switch {
	case err != nil:
		return err
	case a.output == "json":
		return a.writeJSON(fleetAnswer{Cluster: w.name, Fleet: does})
	case does == fleetRuns:
		fmt.Fprintln(a.err, "The fleet runs. `muster status` shows it.")
	default:
		fmt.Fprintln(a.err, "The fleet stops. `muster status` shows how far it is, `muster fleet start` lets it run again.")
	}
	return nil
}
