package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/job/report"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

type reportOptions struct {
	ids    []string
	since  string
	user   string
	by     string
	here   bool
	prices []string
}

// reportBys are what a report can add up.
var reportBys = []string{string(report.ByJob), string(report.ByUser), string(report.ByAccount), string(report.ByNode)}

func (a *app) jobReport() *cobra.Command {
	var o reportOptions
	c := &cobra.Command{
		Use:   "report [ID...]",
		Short: "Say where the time of jobs went, and which nodes fail most",
		Long: `Report says how much of the time in which jobs held nodes was training (goodput),
and what the rest was: starts, checkpoints, steps that were lost, restarts, hangs,
nodes that were held for nothing. It needs Slurm's accounting and the jobs' logs;
what they do not say is shown as not known. Without IDs it is about all jobs of the
last week.

Prices are those of AWS in us-east-1 on a date that is shown. Where there is none,
--price gives it; nothing is reckoned with a price that is not known.

With --here it is about the Slurm of this machine, whoever made the cluster.`,
		Example: "  muster job report\n  muster job report 12 --price p5e.48xlarge=34.60\n  muster job report --since 30d --by node\n" +
			"  muster job report -o json | jq .total.goodput",
		ValidArgsFunction: a.completeJob(true, 100),
		PreRunE: func(c *cobra.Command, args []string) error {
			o.ids = args
			if o.here && c.Flags().Changed("cluster") {
				return fault.Usage(errors.New("--here is about the Slurm of this machine: leave --cluster out"))
			}
			return o.check()
		},
	}
	report := func(c *cobra.Command, s slurm.Client) error {
		answer, err := a.reportOn(c.Context(), s, o)
		if err != nil {
			return err
		}
		return a.answer(answer, func() error { return answer.write(a) })
	}
	onHead := a.onHead(func(c *cobra.Command, _ []string, s slurm.Client) error { return report(c, s) })
	c.RunE = func(c *cobra.Command, args []string) error {
		if o.here {
			return report(c, slurm.Client{Runner: slurm.Exec{}})
		}
		return onHead(c, args)
	}
	c.Flags().StringVar(&o.since, "since", "", "the time that the report is about, a `TIME` such as 12h or 30d (7d without IDs)")
	c.Flags().StringVar(&o.user, "user", "", "only the jobs of a `USER`")
	c.Flags().StringVar(&o.by, "by", reportBys[0], "what is added up in a row: "+strings.Join(reportBys, ", "))
	c.Flags().BoolVar(&o.here, "here", false, "the Slurm of this machine, also of a cluster that muster did not make")
	repeat(c.Flags(), &o.prices, "price", "the price of an instance type in dollars an hour, as `TYPE=DOLLARS`; can be repeated")
	_ = c.RegisterFlagCompletionFunc("by", cobra.FixedCompletions(reportBys, cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("since", cobra.FixedCompletions([]string{"24h", "7d", "30d"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (o reportOptions) check() error {
	if !slices.Contains(reportBys, o.by) {
		return fault.Usage(fmt.Errorf("--by %s: write one of %s", o.by, strings.Join(reportBys, ", ")))
	}
	if _, ok := spec.ParseRun(o.since); o.since != "" && !ok {
		return fault.Usage(fmt.Errorf("--since %s: write a time such as 12h or 30d", o.since))
	}
	return nil
}

// window is the time that the report is about.
func (o reportOptions) window(now time.Time) report.Window {
	hours, ok := spec.ParseRun(o.since)
	switch {
	case ok:
	case len(o.ids) > 0:
		return report.Window{To: now}
	default:
		hours = 7 * 24
	}
	return report.Window{From: now.Add(-time.Duration(hours * float64(time.Hour))), To: now}
}

// reportWait is how long Slurm may take for a report.
const reportWait = 2 * time.Minute

// reportOn looks at Slurm and at what its jobs wrote, and adds it up.
func (a *app) reportOn(ctx context.Context, s slurm.Client, o reportOptions) (reportAnswer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, reportWait, fmt.Errorf("no answer within %s", reportWait))
	defer cancel()
	now := time.Now()
	g := gathered{now: now, window: o.window(now)}
	if err := g.runs(ctx, s, o); err != nil {
		return reportAnswer{}, err
	}
	g.queue(ctx, s)
	g.kept(ctx)
	if err := g.machines(ctx, s, o.prices); err != nil {
		return reportAnswer{}, err
	}
	g.logs(ctx, s)
	g.failures(ctx, s)
	return g.answer(o), nil
}
