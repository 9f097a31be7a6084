//go:build linux

package cli

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/job/probe"
	"github.com/muster-hpc/muster/internal/say/fault"
)

// agentProbe says what a job's processes do on this node. A step of the job runs it.
func (a *app) agentProbe() *cobra.Command {
	return &cobra.Command{
		Use:   "probe JOB",
		Short: "Says what the processes of a job do on this node",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			id, err := strconv.Atoi(args[0])
			if err != nil {
				return fault.Usage(fmt.Errorf("%q is no job's number", args[0]))
			}
			r, err := probe.Look(c.Context(), "/proc", id)
			if err != nil {
				return err
			}
			return r.Write(a.out)
		},
	}
}
