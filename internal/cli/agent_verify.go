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
	c.AddCommand(a.agentVerifyScan(), a.agentVerifyTraffic(), a.agentVerifyCollectives(), a.agentVerifyTasks())
	return c
}

// agentVerifyTasks starts tasks on a machine that is verified alone, as srun does on nodes.
func (a *app) agentVerifyTasks() *cobra.Command {
	var t load.Tasks
	c := &cobra.Command{
		Use:   "tasks -- PROGRAM [ARGUMENT...]",
		Short: "Starts a program several times, as srun does",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			t.Failed = func(task int, err error) string { return load.BrokenRank(t.Node, task, err) }
			t.Line, t.Env, t.In, t.Out, t.Err = args, os.Environ(), os.Stdin, a.out, a.err
			return t.Run(c.Context())
		},
	}
	c.Flags().StringVar(&t.Node, "node", nodeName(), "this node's `NAME`")
	c.Flags().IntVar(&t.Count, "count", 1, "how many tasks there are")
	return c
}
