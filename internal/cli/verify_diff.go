package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/heed"
	"github.com/muster-hpc/muster/internal/verify"
)

func (a *app) verifyDiff() *cobra.Command {
	return &cobra.Command{
		Use:   "diff BEFORE.json AFTER.json",
		Short: "Say what two reports differ in",
		Long: `Diff compares two reports of verify: verdicts that changed, numbers that got worse
or better by more than chance explains, checks that one of them has, and what is
another cluster, node or version. It ends with exit code 1 if anything got worse.

A bandwidth has to change by 5 %, a rate by 15 %, a time by 25 %, and by more where
equal nodes differed by more in the first report. Results on all nodes are compared
where the two reports are of different nodes, too; those of a single node are not.`,
		Example: "  muster verify diff accepted.json today.json\n  muster verify diff accepted.json today.json -o json | jq .worse",
		Args:    cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			before, err := readReport(c.Context(), reportIn(args[0]))
			if err != nil {
				return err
			}
			after, err := readReport(c.Context(), reportIn(args[1]))
			if err != nil {
				return err
			}
			d := diffReports(before, after)
			if err := a.answer(d, func() error { return a.diffText(d) }); err != nil {
				return err
			}
			if len(d.Worse) > 0 {
				return fault.Exit(fault.ExitProblem)
			}
			return nil
		},
	}
}

// diffReports compares two reports. If they are of different nodes, a result on all nodes of its report counts as one of the cluster:
// by its host list, it would be gone in one report and new in the other.
func diffReports(before, after verify.Report) verify.Difference {
	a, b := slurm.Compress(before.Nodes), slurm.Compress(after.Nodes)
	if a == b || len(before.Nodes) < 2 || len(after.Nodes) < 2 {
		return verify.Diff(before, after)
	}
	return verify.Diff(ofCluster(before, a), ofCluster(after, b))
}

// ofCluster returns a report whose results on a host list are the cluster's.
func ofCluster(r verify.Report, hosts string) verify.Report {
	r.Suites = slices.Clone(r.Suites)
	for i := range r.Suites {
		results := slices.Clone(r.Suites[i].Results)
		for n := range results {
			if results[n].On == hosts {
				results[n].On = ""
			}
		}
		r.Suites[i].Results = results
	}
	return r
}

// mostReport is how many bytes of a report are read.
const mostReport = 64 << 20

// readReport reads a report's file.
func readReport(ctx context.Context, path string) (verify.Report, error) {
	text, err := readBounded(ctx, path, mostReport)
	if err != nil {
		return verify.Report{}, err
	}
	r, err := verify.Parse(text)
	if err != nil {
		return verify.Report{}, fmt.Errorf("read the report %s: %w", path, err)
	}
	return r, nil
}

// readBounded reads a file that may not be longer than so many bytes. It may be a pipe to which nobody writes.
func readBounded(ctx context.Context, path string, most int64) ([]byte, error) {
	var text []byte
	err := heed.Call(ctx, func() error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		text, err = io.ReadAll(io.LimitReader(f, most+1))
		return err
	})
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, err)
	case int64(len(text)) > most:
		return nil, fmt.Errorf("read %s: it is longer than %s", path, count.Bytes(most))
	}
	return text, nil
}

// diffText writes a difference for people, what got worse first.
func (a *app) diffText(d verify.Difference) error {
	t := page.Table{{"", "SUITE", "CHECK", "ON", "BEFORE", "AFTER"}}
	for _, list := range []struct {
		word    string
		changes []verify.Change
	}{{"worse", d.Worse}, {"other", d.Other}, {"better", d.Better}, {"gone", d.Gone}, {"new", d.New}} {
		for _, c := range list.changes {
			t.Add(list.word, c.Suite, c.Check, page.OrDash(hostsOf(c.On)), sideText(c.From, c.A, c.Unit, c.FoundA), sideText(c.To, c.B, c.Unit, c.FoundB))
		}
	}
	for _, c := range d.Identity {
		t.Add("identity", "", c.What, "-", page.OrDash(c.A), page.OrDash(c.B))
	}
	if len(d.NodesGone)+len(d.NodesNew) > 0 {
		t.Add("nodes", "", "", "-", page.OrDash(hostsOf(d.NodesGone)), page.OrDash(hostsOf(d.NodesNew)))
	}
	if len(t) > 1 {
		if err := t.Write(a.out); err != nil {
			return err
		}
		fmt.Fprintln(a.out)
	}
	return page.Line(a.out, fmt.Sprintf("%d worse, %d better, %d other, %d gone, %d new; %s as before",
		len(d.Worse), len(d.Better), len(d.Other), len(d.Gone), len(d.New), count.Of(d.Same, "result")))
}

// sideText is what one of the reports says.
func sideText(v verify.Verdict, number *float64, unit, found string) string {
	switch {
	case v == "":
		return "-"
	case number != nil:
		return fmt.Sprintf("%s, %s %s", v, figures(*number), unit)
	case found != "":
		return fmt.Sprintf("%s, %s", v, found)
	}
	return string(v)
}
