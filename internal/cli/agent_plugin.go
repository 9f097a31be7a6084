//go:build linux

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/slurm/spank"
)

// agentPlugin builds Slurm's plugin beforehand, for machines without a compiler.
func (a *app) agentPlugin() *cobra.Command {
	return &cobra.Command{
		Use:   "plugin DIR",
		Short: "Build Slurm's plugin for containers, for a muster that is installed in DIR",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			path, err := spank.Package(c.Context(), args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.out, path)
			return err
		},
	}
}
