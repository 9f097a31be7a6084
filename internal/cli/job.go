package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/slurm"
)

func (a *app) job() *cobra.Command {
	c := &cobra.Command{
		Use:   "job",
		Short: "Write jobs, submit, list, show, follow and cancel them",
	}
	c.AddCommand(a.jobInit(), a.jobScript(), a.jobSubmit(), a.jobReport(), a.jobList(), a.jobShow(), a.jobLogs(), a.jobAdopt(), a.jobCancel())
	return c
}

func noJob(id int) error {
	return fault.Coded(fault.CodeJob, "there is no job %d; `muster job list --all` shows all", id)
}

// jobID reads a job's ID: 12, or 9_3 for a task of an array.
func jobID(ctx context.Context, s slurm.Client, text string) (int, error) {
	array, task, isTask := strings.Cut(text, "_")
	id, err := strconv.ParseUint(array, 10, 31)
	if err == nil && isTask {
		_, err = strconv.ParseUint(task, 10, 31)
	}
	switch {
	case err != nil || id == 0:
		return 0, fault.Usage(fmt.Errorf("%q is no job's ID, such as 12 or 9_3", text))
	case isTask:
		return taskID(ctx, s, int(id), text)
	}
	return int(id), nil
}

// aboutJob is onHead for commands that ask about the job that their first argument is, and wait no longer than Slurm may take.
func (a *app) aboutJob(run func(ctx context.Context, s slurm.Client, id int, asked string) error) func(*cobra.Command, []string) error {
	return a.onHead(func(c *cobra.Command, args []string, s slurm.Client) error {
		ctx, cancel := slurm.Limited(c.Context())
		defer cancel()
		id, err := jobID(ctx, s, args[0])
		if err != nil {
			return err
		}
		return run(ctx, s, id, args[0])
	})
}

// taskID finds the job that is a task of an array.
func taskID(ctx context.Context, s slurm.Client, array int, label string) (int, error) {
	jobs, _, err := s.Jobs(ctx)
	if err != nil {
		return 0, err
	}
	waiting := false
	for _, j := range jobs {
		if j.Label() == label {
			return j.ID, nil
		}
		waiting = waiting || j.ArrayJobID == array && j.State == "PENDING"
	}
	runs, _, err := s.History(ctx, slurm.Ever(array))
	if err != nil {
		return 0, err
	}
	for _, r := range runs {
		if r.Label == label {
			return r.ID, nil
		}
	}
	if waiting {
		return 0, fmt.Errorf("task %s has not started; `muster job show %d` shows the tasks that wait", label, array)
	}
	return 0, fmt.Errorf("there is no job %s; `muster job list --all` shows all", label)
}

// completionWait is how long a user who pressed Tab waits at most.
const completionWait = 2 * time.Second

// completeJob completes the IDs of jobs that Slurm knows. ended says whether
// those that have ended are among them.
func (a *app) completeJob(ended bool, most int) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		if len(args) >= most {
			return nil, directive
		}
		s, err := a.slurmHere()
		if err != nil {
			return nil, directive
		}
		ctx, cancel := context.WithTimeoutCause(c.Context(), completionWait, errors.New("no answer in time"))
		defer cancel()
		jobs, _, err := s.Jobs(ctx)
		if err != nil {
			return nil, directive
		}
		var ids []string
		for _, j := range jobs {
			if ended || !j.Ended() {
				ids = append(ids, fmt.Sprintf("%d\t%s, %s", j.ID, page.Printable(j.Name), j.State))
			}
		}
		return ids, directive
	}
}
