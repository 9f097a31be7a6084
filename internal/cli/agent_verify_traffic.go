//go:build linux

package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/verify/load"
)

// agentVerifyTraffic is a node's worker for measurements of the network. It does what its input says and ends with it.
func (a *app) agentVerifyTraffic() *cobra.Command {
	var node string
	c := &cobra.Command{
		Use:   "traffic",
		Short: "Measures the network with other nodes, as the input says",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return load.ServeTraffic(c.Context(), os.Stdin, a.out, node)
		},
	}
	c.Flags().StringVar(&node, "node", nodeName(), "this node's `NAME`")
	return c
}
