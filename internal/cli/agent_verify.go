//go:build linux

package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/verify/load"
)

// agentVerify has what `muster verify` runs on nodes.
func (a *app) agentVerify() *cobra.Command {
	c := &cobra.Command{Use: "verify", Hidden: true, Short: "Looks and measures on a node, for muster verify"}
	c.AddCommand(a.agentVerifyStorage(), &cobra.Command{
		Use:   "hello",
		Short: "Says the time, and which names it knows, when asked",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return load.Answer(c.Context(), os.Stdin, a.out, nodeName())
		},
	})
	c.AddCommand(a.agentVerifyScan(), a.agentVerifyTraffic(), a.agentVerifyCollectives())
	return c
}
