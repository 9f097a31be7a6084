package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/slurm"
)

func (a *app) jobLogs() *cobra.Command {
	var follow, errors bool
	var rank string
	c := &cobra.Command{
		Use:   "logs ID",
		Short: "Print what a job writes, or follow it with -f",
		Long: `Logs prints a job's output file. With -f it waits for the file, goes on as the file
grows, and ends when the job has ended, whatever way; what happens to the job comes
to stderr. Ctrl-C stops the following; the job goes on. ID is a number, or 9_3 for
task 3 of array 9; of an array, the output of one task is printed.

With --rank, only what one rank wrote, or with "all" each line with its rank: of job
files with the launcher srun, of scripts with ` + "`srun --label`" + `, and of what ranks
wrote to stderr in job files with torchrun's launchers.`,
		Example:           "  muster job logs 12\n  muster job logs -f 12\n  muster job logs --err 12\n  muster job logs -f --rank 3 12",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeJob(true, 1),
		PreRunE: func(*cobra.Command, []string) error {
			if rank != "" && errors {
				return fault.Usage(fmt.Errorf("--rank shows what a rank wrote of both kinds: leave --err out"))
			}
			_, err := rankWish{rank: rank}.number()
			return err
		},
		RunE: a.onHead(func(c *cobra.Command, args []string, s slurm.Client) error {
			id, err := jobID(c.Context(), s, args[0])
			if err != nil {
				return err
			}
			if rank != "" {
				return a.rankLogs(c.Context(), s, rankWish{asked: args[0], id: id, rank: rank, follow: follow})
			}
			if follow {
				return a.followLogs(c.Context(), s, args[0], id, errors)
			}
			return a.printLogs(c.Context(), s, args[0], id, errors)
		}),
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the job has ended")
	c.Flags().BoolVar(&errors, "err", false, "the file for errors, where that is another one")
	c.Flags().StringVar(&rank, "rank", "", "only what `RANK` wrote, such as 0; all has each line with its rank")
	return c
}

func (a *app) followLogs(ctx context.Context, s slurm.Client, asked string, id int, errors bool) error {
	if j, err := s.Job(ctx, id); err == nil { // else the following says so, or waits for Slurm
		a.sayFollowed(asked, j)
	}
	out, errOut := a.out, io.Writer(nil)
	if errors {
		out, errOut = nil, a.out
	}
	_, err := a.follow(ctx, s, id, out, errOut, nil)
	return err
}

// printLogs prints what a job has written so far. asked is the ID as its user wrote it.
func (a *app) printLogs(ctx context.Context, s slurm.Client, asked string, id int, errOut bool) error {
	view, err := job.Look(ctx, s, id, job.View{})
	if errors.Is(err, slurm.ErrNoJob) {
		return noJob(id)
	}
	if err != nil {
		return err
	}
	j := view.Job
	path := j.StdOut
	if errOut {
		path = j.StdErr
	}
	if path == "" && job.Started(j) {
		if path = usualOutput(j); path != "" {
			a.note("Slurm no longer knows where job %d wrote; this is sbatch's usual file, %s", id, path)
		}
	}
	switch {
	case !job.Started(j):
		return fmt.Errorf("job %d has no output yet: it %s; %s waits for it", id, job.State(view), a.command("job logs -f %d", id))
	case path == "":
		return fmt.Errorf("where job %d wrote its output is no longer known: Slurm forgets that some minutes after the end; it ran in %s, which has no %s of its time",
			id, j.WorkDir, filepath.Base(usualName(j)))
	}
	a.sayTask(asked, j)
	output := job.Output{Path: path, UID: j.UID, Since: job.WrittenSince(j)}
	defer output.Close()
	out := page.Guarded(a.out)
	for more := true; more; {
		if more, err = output.Copy(out); err != nil {
			return fmt.Errorf("print the output of job %d: %w", id, err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if !output.Open() {
		return fmt.Errorf("job %d has no output: there is no file %s", id, path)
	}
	return out.Flush()
}

// usualName is the file to which sbatch has a job write that names none.
func usualName(j slurm.Job) string { return filepath.Join(j.WorkDir, "slurm-"+j.Label()+".out") }

// usualOutput is that file if it was written to since the job began: another job may have
// had its number before. It is empty if there is none.
func usualOutput(j slurm.Job) string {
	info, err := os.Stat(usualName(j))
	if err != nil || j.WorkDir == "" || !info.Mode().IsRegular() || info.ModTime().Before(j.StartTime) {
		return ""
	}
	return usualName(j)
}
