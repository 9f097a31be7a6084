//go:build linux

package cli

import (
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	awshead "github.com/muster-hpc/muster/internal/aws/headnode"
	localhead "github.com/muster-hpc/muster/internal/local/headnode"
	"github.com/muster-hpc/muster/internal/say/fault"
)

func (a *app) controller() *cobra.Command {
	var ticket string
	c := &cobra.Command{
		Use:    "controller [DIR]",
		Short:  "Used by clusters: the daemon of their head node",
		Args:   cobra.MaximumNArgs(1),
		Hidden: true,
		RunE: func(c *cobra.Command, args []string) error {
			log := slog.New(slog.NewTextHandler(a.err, nil))
			switch {
			case ticket != "" && len(args) == 0:
				return awshead.Run(c.Context(), ticket, log)
			case ticket == "" && len(args) == 1:
				return localhead.Run(c.Context(), args[0], log)
			}
			return fault.Usage(errors.New("give a local cluster's directory, or --ticket on a head node on AWS"))
		},
	}
	c.Flags().StringVar(&ticket, "ticket", "", "serve the cluster on AWS that `FILE` names")
	return c
}
