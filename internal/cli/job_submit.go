package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/slurm"
)

func (a *app) jobSubmit() *cobra.Command {
	var options []string
	var force bool
	var wishes jobWishes
	c := &cobra.Command{
		Use:   "submit FILE [ARG...]",
		Short: "Submit a batch script or a job file and print the job's ID",
		Long: `Submit hands a batch script to sbatch in the current directory and prints the job's
ID. The script is checked first; an error stops it, unless --force is given.

A job file (see "muster job init") becomes a batch script first, which stays beside
the job's log. With --all it becomes a job for each model of muster.yaml, whose name
"{model}" in the file stands for. Its secrets are read here, and only its ranks see
them.

What stands behind FILE are arguments of the script. "-" is a script on the
standard input.`,
		Example: "  muster job submit train.sbatch\n  muster job submit job.yaml\n  muster job submit --all job.yaml\n" +
			"  muster job submit --sbatch=--dependency=afterok:12 next.sbatch",
		Args: cobra.MinimumNArgs(1),
		RunE: a.onHeadWithScript(func(c *cobra.Command, args []string, s slurm.Client) error {
			script, err := scriptArgs(c, args)
			if err != nil {
				return err
			}
			script.flags, script.force = batch.Flags(options), force
			jobs, err := a.submit(c.Context(), s, script, wishes)
			if wishes.all && len(jobs) > 0 {
				return a.submittedAll(jobs, err)
			}
			if err != nil {
				return err
			}
			return a.submitted(jobs[0])
		}),
	}
	submitFlags(c, &options, &force)
	modelFlag(c, &wishes.model)
	secretsOnStdin(c, &wishes.secretsOnStdin)
	c.Flags().BoolVar(&wishes.all, "all", false, "of a job file: a job for each model of muster.yaml")
	return c
}

// submittedAll answers with the jobs of several models. One that Slurm does not take leaves
// the others as they are.
func (a *app) submittedAll(jobs []submittedJob, failed error) error {
	err := a.answer(submittedJobs{Jobs: jobs}, func() error {
		t := page.Table{{"JOB", "NAME", "MODEL"}}
		for _, j := range jobs {
			if j.Error == "" {
				t.Add(fmt.Sprint(j.ID), j.Job, j.Model)
			}
		}
		return t.Write(a.out)
	})
	if err == nil && failed != nil {
		fmt.Fprintf(a.err, "muster: %s\n", page.Printable(failed.Error()))
		err = fault.Exit(fault.ExitProblem)
	}
	return err
}
