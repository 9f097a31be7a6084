//go:build linux

package cli

import (
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/verify/load"
)

// agentVerifyCollectives is one rank of a measurement of collectives: Python, which does what its input says and ends with it.
func (a *app) agentVerifyCollectives() *cobra.Command {
	var python string
	c := &cobra.Command{
		Use:   "collectives",
		Short: "Measures collectives of torch.distributed with other ranks, as the input says",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			rank, _ := strconv.Atoi(os.Getenv("SLURM_PROCID")) // 0 outside of steps
			return load.BecomeCollectives(c.Context(), python, nodeName(), rank, a.out, os.Environ())
		},
	}
	c.Flags().StringVar(&python, "python", "", "the Python that has torch, a `PATH`; one that is found otherwise")
	return c
}
