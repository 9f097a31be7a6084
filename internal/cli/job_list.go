package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/slurm"
)

func (a *app) jobList() *cobra.Command {
	var all bool
	var last int
	c := &cobra.Command{
		Use:   "list",
		Short: "List the jobs that wait and run, and those that ended today",
		Long: `List shows the jobs of all users: those that wait and run, and those that were
there today, the newest last. TIME is how long the last run took or takes. Where
jobs have accounts or QoS, so has the list.

Of very many jobs the newest are listed; --last says how many. With -o json all are,
unless --last is given: many thousands take the accounting some seconds.`,
		Example: "  muster job list\n  muster job list --all\n  muster job list -o json | jq '.jobs[] | select(.state == \"FAILED\") | .id'",
		Args:    cobra.NoArgs,
		PreRunE: func(c *cobra.Command, _ []string) error {
			if last < 0 {
				return fault.Usage(fmt.Errorf("--last %d: write how many jobs, or 0 for all", last))
			}
			if a.output == "json" && !c.Flags().Changed("last") {
				last = 0
			}
			return nil
		},
		RunE: a.forwarded(func(c *cobra.Command, _ []string) error {
			s, err := a.slurmHere()
			if err != nil {
				return err
			}
			answer, err := listJobs(c.Context(), s, pastJobs(all, last))
			if err != nil {
				return err
			}
			return a.answer(answer, func() error { return a.writeJobs(answer) })
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "also those that ended before today")
	c.Flags().IntVar(&last, "last", listLast, "list no more than the newest `NUMBER` of jobs, 0 for all")
	return c
}

// listLast is how many jobs people are shown who do not say how many.
const listLast = 1000

// listWait is how long the accounting may take for all jobs that there ever were.
const listWait = 2 * time.Minute

// past asks for the jobs of the history; more says that there are others.
type past func(ctx context.Context, s slurm.Client) (runs []slurm.Run, odd []slurm.Problem, more bool, err error)

// pastJobs are those since midnight, or all, but no more than the newest; 0 is no limit.
func pastJobs(all bool, last int) past {
	return func(ctx context.Context, s slurm.Client) (runs []slurm.Run, odd []slurm.Problem, more bool, err error) {
		since := time.Time{}
		if !all {
			y, m, d := time.Now().Date()
			since = time.Date(y, m, d, 0, 0, 0, 0, time.Local)
		}
		ctx, cancel := context.WithTimeoutCause(ctx, listWait, fmt.Errorf("no answer within %s", listWait))
		defer cancel()
		switch {
		case last > 0:
			return s.Latest(ctx, since, last)
		case all:
			runs, odd, err = s.History(ctx, slurm.Ever())
		default:
			runs, odd, err = s.History(ctx, slurm.Window{Since: since})
		}
		return runs, odd, false, err
	}
}

// ofJobs are the runs of some jobs.
func ofJobs(ids ...int) past {
	return func(ctx context.Context, s slurm.Client) ([]slurm.Run, []slurm.Problem, bool, error) {
		ctx, cancel := slurm.Limited(ctx)
		defer cancel()
		runs, odd, err := s.History(ctx, slurm.Ever(ids...))
		return runs, odd, false, err
	}
}

// listJobs looks at the queue and at the history. Without the history, the
// answer says so.
func listJobs(ctx context.Context, s slurm.Client, before past) (jobsAnswer, error) {
	limited, cancel := slurm.Limited(ctx)
	defer cancel()
	var answer jobsAnswer
	queue, odd, err := s.Jobs(limited)
	if err != nil {
		return answer, err
	}
	history, oddRuns, more, err := before(ctx, s)
	if err != nil {
		answer.Blind = append(answer.Blind, fmt.Sprintf("the history: %v", err))
	}
	for _, p := range append(odd, oddRuns...) {
		answer.Blind = append(answer.Blind, fmt.Sprintf("a job: %v", p))
	}
	answer.Jobs, answer.More = job.Rows(queue, history, time.Now()), more
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
	accounts := slices.ContainsFunc(answer.Jobs, func(r job.Row) bool { return job.Accounted(r.Account, r.QOS) })
	t := page.Table{jobLine(accounts, []string{"ID", "NAME", "USER"}, []string{"ACCOUNT", "QOS", "PRIORITY"}, "STATE", "TIME", "NODES", "WHERE OR WHY")}
	for _, r := range answer.Jobs {
		where, priority := r.Why, ""
		if where == "" {
			where = r.NodeList
		}
		if r.Priority > 0 {
			priority = strconv.Itoa(r.Priority)
		}
		t = append(t, jobLine(accounts, []string{r.Label, r.Name, r.User}, []string{r.Account, r.QOS, priority},
			r.State, job.Span(r.Elapsed), strconv.Itoa(r.NumNodes), where))
	}
	if err := t.Write(a.out); err != nil {
		return err
	}
	if answer.More {
		a.note("these are the newest; %s lists more of them, and with 0 all", a.command("job list --last NUMBER"))
	}
	return nil
}

// jobLine is a line of the list, with what accounts say where they are used.
func jobLine(accounts bool, who, account []string, rest ...string) []string {
	if !accounts {
		account = nil
	}
	return slices.Concat(who, account, rest)
}
