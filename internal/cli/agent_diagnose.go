//go:build linux

package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/aws/boot"
)

// agentDiagnose is a node's prolog where the cluster file asks for GPU checks. It fails
// only for a failed test; GPUs that could not be checked are reported and noted.
func (a *app) agentDiagnose() *cobra.Command {
	return &cobra.Command{
		Use:   "diagnose GPUS",
		Short: "Have DCGM look at a job's GPUs",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			var m boot.Machine
			v := m.Diagnose(c.Context(), args[0])
			if err := m.NoteHealth(v, os.Getenv("SLURM_JOB_ID"), time.Now()); err != nil {
				fmt.Fprintln(a.err, "the health log was not written:", err)
			}
			if v.Blind != "" {
				fmt.Fprintln(a.err, "these GPUs could not be checked:", v.Blind)
			}
			if len(v.Failed) > 0 {
				return fmt.Errorf("DCGM's diagnosis failed: %s", strings.Join(v.Failed, "; "))
			}
			return nil
		},
	}
}
