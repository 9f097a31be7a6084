package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
)

func (a *app) jobAdopt() *cobra.Command {
	var wishes policy.Flags
	c := &cobra.Command{
		Use:   "adopt ID",
		Short: "Keep a job running: watch it, and start it again when that helps",
		Long: `Adopt has muster keep a batch job running that is in the queue or runs: it
follows the job's output, finds out why a run ended, and starts the job again
from its last whole checkpoint, without the node at fault. A job that would fail
again is left, and events and ` + "`muster job show`" + ` say why.

A batch script asks for the same by itself, in lines that begin with #MUSTER and
have these options. For a job that is kept already, adopt changes what is wished.`,
		Example:           "  muster job adopt 12 --checkpoints=/fsx/checkpoints/llama\n  muster job adopt 12 --restarts=3 --hang=15m",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeJob(false, 1),
		RunE: a.aboutJob(func(ctx context.Context, s slurm.Client, id int, asked string) error {
			jobs, _, err := s.Jobs(ctx)
			if err != nil {
				return err
			}
			if tasks := tasksMeant(jobs, asked); len(tasks) > 1 {
				return fmt.Errorf("job %s is an array, of which %d tasks are in the queue: adopt them one by one, as with `muster job adopt %s`", asked, len(tasks), tasks[0])
			}
			if err := client.In(services.RunDir).Adopt(ctx, id, client.AdoptRequest{Options: wishes.Words()}); err != nil {
				return fmt.Errorf("adopt job %s: %w", asked, err)
			}
			return a.answer(submitAnswer{ID: id}, func() error {
				_, err := fmt.Fprintf(a.err, "muster: job %s is kept running; `muster job show %s` shows how it is\n", asked, asked)
				return err
			})
		}),
	}
	for _, o := range policy.Options() {
		c.Flags().VarPF(wishes.Flag(o), o.Name, "", o.Help).NoOptDefVal = o.Lone()
	}
	return c
}

// tasksMeant are the tasks in the queue of an array that is asked for by its own number, which is also that of one of its tasks.
func tasksMeant(jobs []slurm.Job, asked string) []string {
	var all []string
	for _, j := range jobs {
		if j.ArrayJobID != 0 && strconv.Itoa(j.ArrayJobID) == asked && !j.Ended() {
			all = append(all, j.Label())
		}
	}
	slices.Sort(all)
	return all
}
