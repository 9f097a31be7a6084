package cli

import (
	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/provider/local"
)

func (a *app) agent() *cobra.Command {
	c := &cobra.Command{Use: "agent", Short: "Used by clusters: the programs of their machines", Hidden: true}
	c.AddCommand(&cobra.Command{
		Use:   "anchor DIR",
		Short: "The first process of a local cluster",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			l, r, err := local.Open(args[0])
			if err != nil {
				return err
			}
			return l.RunAnchor(c.Context(), r)
		},
	})
	c.AddCommand(a.agentPlugin())
	return c
}
