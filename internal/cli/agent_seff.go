//go:build linux

package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/slurm"
)

// agentSeff is Slurm's seff, which Debian's packages lack.
func (a *app) agentSeff() *cobra.Command {
	return &cobra.Command{
		Use:   "seff JOB",
		Short: "Say how much of its CPUs and memory a job used, as seff does",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			u, err := slurm.Client{Runner: slurm.Exec{}}.Usage(c.Context(), args[0])
			if errors.Is(err, slurm.ErrNoJob) {
				return fmt.Errorf("there is no job %s", args[0])
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(a.out, job.Efficiency(u))
			return err
		},
	}
}
