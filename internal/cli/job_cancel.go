package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/slurm"
)

func (a *app) jobCancel() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel ID...",
		Short: "End jobs, whether they wait or run",
		Long: `Cancel ends jobs for good. A job that has ended already is left as it is. The number
of an array stands for all its tasks.`,
		Example:           "  muster job cancel 12\n  muster job cancel 12 13 9_3",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: a.completeJob(false, 100),
		RunE: a.forwarded(func(c *cobra.Command, args []string) error {
			s, err := a.slurmHere()
			if err != nil {
				return err
			}
			return a.cancelJobs(c.Context(), s, args)
		}),
	}
}

func (a *app) cancelJobs(ctx context.Context, s slurm.Client, ids []string) error {
	var answer cancelAnswer
	var usage fault.UsageError
	failed := false
	for _, id := range ids {
		done, err := cancelJob(ctx, s, id)
		if errors.As(err, &usage) {
			return err
		}
		if err != nil {
			failed, done.Error = true, err.Error()
		}
		a.tellCancelled(done)
		answer.Jobs = append(answer.Jobs, done)
	}
	if a.output == "json" {
		if err := a.writeJSON(answer); err != nil {
			return err
		}
	}
	if failed {
		return fault.Exit(fault.ExitProblem)
	}
	return nil
}

func cancelJob(ctx context.Context, s slurm.Client, text string) (cancelledJob, error) {
	c := cancelledJob{ID: text}
	ctx, cancel := slurm.Limited(ctx)
	defer cancel()
	id, err := jobID(ctx, s, text)
	if err != nil {
		return c, err
	}
	view, err := job.Look(ctx, s, id, job.View{})
	if errors.Is(err, slurm.ErrNoJob) {
		return c, noJob(id)
	}
	if err != nil {
		return c, err
	}
	ended, err := wholeEnded(ctx, s, view.Job)
	if err != nil {
		return c, err
	}
	if ended {
		c.State = view.Job.State
		return c, nil
	}
	if err := s.Cancel(ctx, strconv.Itoa(id)); err != nil {
		return c, err
	}
	c.Cancelled = true
	return c, nil
}

// wholeEnded says that a job has ended, and with it all tasks of the array whose number it
// has.
func wholeEnded(ctx context.Context, s slurm.Client, j slurm.Job) (bool, error) {
	if !j.Ended() || j.ArrayJobID != j.ID {
		return j.Ended(), nil
	}
	all, _, err := s.Jobs(ctx)
	return !slices.ContainsFunc(all, func(o slurm.Job) bool { return o.ArrayJobID == j.ID && !o.Ended() }), err
}

func (a *app) tellCancelled(c cancelledJob) {
	switch {
	case c.Error != "":
		fmt.Fprintf(a.err, "muster: %s\n", page.Printable(c.Error))
	case a.quiet:
	case c.Cancelled:
		fmt.Fprintf(a.err, "job %s is cancelled\n", c.ID)
	default:
		fmt.Fprintf(a.err, "job %s had ended: %s\n", c.ID, c.State)
	}
}
