package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/say/fault"
)

type eventsOptions struct {
	follow bool
	since  time.Duration
}

func (a *app) events() *cobra.Command {
	var o eventsOptions
	c := &cobra.Command{
		Use:   "events [NAME]",
		Short: "Show what happened to the nodes, and why",
		Long: `Events shows what the controller did with the nodes since the cluster was made:
what Slurm asked for, launches, ends, nodes set down, each with its reason.

With -o json each event is one line, as the controller wrote it.`,
		Example: "  muster events\n  muster events -f\n  muster events --since 10m\n  muster events -o json | jq -r 'select(.kind == \"ended\").nodes'",
		Args:    a.clusterName,
		PreRunE: func(*cobra.Command, []string) error {
			if o.since < 0 {
				return fault.Usage(fmt.Errorf("--since %s lies in the future", o.since))
			}
			return nil
		},
		RunE: a.forwarded(func(c *cobra.Command, _ []string) error {
			n, err := a.near()
			if err != nil {
				return err
			}
			path, err := n.Events()
			if err != nil {
				return err
			}
			return a.showEvents(c.Context(), path, o)
		}),
	}
	c.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on showing what happens, until the cluster is taken down")
	c.Flags().DurationVar(&o.since, "since", 0, "only what happened within this time, a `TIME` such as 10m or 2h")
	return c
}
