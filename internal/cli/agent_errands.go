//go:build linux

package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/job/errand"
)

// agentErrands looks at the files of a job's user for the controller, which runs it as that user.
func (a *app) agentErrands() *cobra.Command {
	return &cobra.Command{
		Use:   "errands",
		Short: "Looks at the files of a job's user for the controller",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return errand.Serve(os.Stdin, os.Stdout) },
	}
}
