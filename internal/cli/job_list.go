package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/slurm"
)

func (a *app) jobList() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the jobs that wait and run, and those that ended today",
		Long: `List shows the jobs of all users: those that wait and run, and those that were
there today, the newest last. TIME is how long the last run took or takes.`,
		Example: "  muster job list\n  muster job list --all\n  muster job list -o json | jq '.jobs[] | select(.state == \"FAILED\") | .id'",
		Args:    cobra.NoArgs,
		RunE: a.forwarded(func(c *cobra.Command, _ []string) error {
			s, err := a.slurmHere()
			if err != nil {
				return err
			}
			window := slurm.Window{}
			if all {
				window = everything()
			}
			answer, err := listJobs(c.Context(), s, window)
			if err != nil {
				return err
			}
			return a.answer(answer, func() error { return a.writeJobs(answer) })
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "also those that ended before today")
	return c
}

// listJobs looks at the queue and at the history. Without the history, the
// answer says so.
func listJobs(ctx context.Context, s slurm.Client, w slurm.Window) (jobsAnswer, error) {
	ctx, cancel := slurm.Limited(ctx)
	defer cancel()
	var answer jobsAnswer
	queue, odd, err := s.Jobs(ctx)
	if err != nil {
		return answer, err
	}
	history, oddRuns, err := s.History(ctx, w)
	if err != nil {
		answer.Blind = append(answer.Blind, fmt.Sprintf("the history: %v", err))
	}
	for _, p := range append(odd, oddRuns...) {
		answer.Blind = append(answer.Blind, fmt.Sprintf("a job: %v", p))
	}
	answer.Jobs = job.Rows(queue, history, time.Now())
	return answer, nil
}

func (a *app) writeJobs(answer jobsAnswer) error {
	for _, b := range answer.Blind {
		fmt.Fprintf(a.err, "muster: could not read %s\n", page.Printable(b))
	}
	if len(answer.Jobs) == 0 {
		if !a.quiet {
			fmt.Fprintf(a.err, "no jobs today; %s submits one\n", a.command("run FILE"))
		}
		return nil
	}
	t := page.Table{{"ID", "NAME", "USER", "STATE", "TIME", "NODES", "WHERE OR WHY"}}
	for _, r := range answer.Jobs {
		where := r.Why
		if where == "" {
			where = r.NodeList
		}
		t.Add(r.Label, r.Name, r.User, r.State, job.Span(r.Elapsed), strconv.Itoa(r.NumNodes), where)
	}
	return t.Write(a.out)
}
