package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/place"
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
		RunE: func(c *cobra.Command, _ []string) error {
			return a.orderFleet(c.Context(), fleetRuns, stopOptions{})
		},
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
		RunE: func(c *cobra.Command, _ []string) error {
			return a.orderFleet(c.Context(), fleetStops, o)
		},
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

// orderFleet has the fleet run or stop, of the cluster that the command is about or whose
// machine this is.
func (a *app) orderFleet(ctx context.Context, does string, o stopOptions) error {
	name, order, n := "", controlHere, place.Near(insideOf{})
	if !inside() {
		w, err := a.find("")
		if err != nil {
			return err
		}
		name, order, n = w.name, w.Fleet, w.Near()
	}
	if n != nil { // the question is only asked if the fleet can be stopped
		if _, err := n.Control(); err != nil {
			return err
		}
	}
	if err := a.confirmStop(o); err != nil {
		return err
	}
	if err := order(ctx, client.FleetOrder{Run: does == fleetRuns, Now: o.now}); err != nil {
		return err
	}
	switch {
	case a.output == "json":
		return a.writeJSON(fleetAnswer{Cluster: name, Fleet: does})
	case does == fleetRuns:
		fmt.Fprintln(a.err, "The fleet runs. `muster status` shows it.")
	default:
		fmt.Fprintln(a.err, "The fleet stops. `muster status` shows how far it is, `muster fleet start` lets it run again.")
	}
	return nil
}

// controlHere has the controller of this machine start or stop the fleet.
func controlHere(ctx context.Context, o client.FleetOrder) error {
	control, err := insideOf{}.Control()
	if err != nil {
		return err
	}
	return control.OrderFleet(ctx, o)
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
