package cli

import (
	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/slurm"
)

func (a *app) jobSubmit() *cobra.Command {
	var options []string
	var force bool
	c := &cobra.Command{
		Use:   "submit FILE [ARG...]",
		Short: "Submit a batch script and print the job's ID",
		Long: `Submit hands a batch script to sbatch in the current directory and prints the job's
ID. The script is checked first; an error stops it, unless --force is given.

What stands behind FILE are arguments of the script. "-" is a script on the
standard input.`,
		Example: "  muster job submit train.sbatch\n  muster job submit --sbatch=--dependency=afterok:12 next.sbatch",
		Args:    cobra.MinimumNArgs(1),
		RunE: a.onHeadWithScript(func(c *cobra.Command, args []string, s slurm.Client) error {
			script, err := scriptArgs(c, args)
			if err != nil {
				return err
			}
			script.flags, script.force = batch.Flags(options), force
			id, err := a.submitScript(c.Context(), s, script)
			if err != nil {
				return err
			}
			return a.submitted(id)
		}),
	}
	submitFlags(c, &options, &force)
	return c
}
