//go:build linux

package cli

import (
	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/container"
)

func (a *app) containerSweep() *cobra.Command {
	return &cobra.Command{
		Use:    container.SweepCommand[1] + " NAMESPACE FILE",
		Short:  "Used by muster: end what runs in a container whose muster was killed",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE:   func(_ *cobra.Command, args []string) error { return container.Sweep(args[0], args[1]) },
	}
}
