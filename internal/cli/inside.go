//go:build linux

package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
)

// enteredBy is set for a muster that another one started on the head node.
const enteredBy = "MUSTER_ENTERED"

// runAgain tells whether this is a command that a muster outside has begun, and said what
// there is to say outside.
func runAgain() bool { return os.Getenv(enteredBy) == enteredAgain }

const enteredAgain = "again"

// inside tells whether this muster runs on a machine of a cluster.
func inside() bool {
	_, err := os.Stat(services.Muster)
	return err == nil || guest()
}

// onHead makes a command one that runs on the head node, where Slurm's programs
// are and lead to the right cluster. From elsewhere, the same command line is
// run again there.
func (a *app) onHead(run func(c *cobra.Command, args []string, s slurm.Client) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if !inside() {
			w, err := a.find("")
			if err != nil {
				return err
			}
			if w.place == onAWS {
				return a.forward(c.Context(), w, os.Args[1:])
			}
			return a.enterLocal(c.Context(), append([]string{services.Muster}, os.Args[1:]...))
		}
		if os.Getenv(enteredBy) != "" {
			// The one who started us may be ended without our hearing of it.
			if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0); err != nil {
				return fmt.Errorf("tie to the caller: %w", err)
			}
		}
		return run(c, args, slurm.Client{Runner: slurm.Exec{}})
	}
}
