//go:build linux

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/whole"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/suite"
)

// burnIn is what is asked of a new node before its first job.
type burnIn struct {
	suites              []string
	level               int
	budget              time.Duration
	node, kind          string
	file, models, place string
	out                 string
}

// agentBurnIn has a new node prove itself alone, before it is Slurm's. What came of it is in a file; a machine that is unfit ends it
// with exit code 1.
func (a *app) agentBurnIn() *cobra.Command {
	var b burnIn
	c := &cobra.Command{
		Use:   "burn-in",
		Short: "Has a new node prove itself alone, under load",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return a.burnIn(c.Context(), b) },
	}
	f := c.Flags()
	f.StringSliceVar(&b.suites, "suites", nil, "the suites of `muster verify`")
	f.IntVar(&b.level, "diagnosis", 1, "the `LEVEL` of DCGM's diagnosis")
	f.DurationVar(&b.budget, "budget", 15*time.Minute, "the `TIME` for all of it")
	f.StringVar(&b.node, "node", nodeName(), "the node's `NAME`")
	f.StringVar(&b.kind, "type", "", "its instance `TYPE`")
	f.StringVar(&b.file, "file", "", "the cluster `FILE`")
	f.StringVar(&b.models, "workload", "", "muster.yaml, a `FILE`")
	f.StringVar(&b.place, "place", "aws", "the `PLACE` of the cluster")
	f.StringVar(&b.out, "out", "", "the `FILE` for what came of it")
	return c
}

func (a *app) burnIn(ctx context.Context, b burnIn) error {
	o := proofOptions{suites: b.suites, diagnosis: b.level, budget: b.budget, alone: true}
	if err := o.check(); err != nil {
		return err
	}
	w, err := a.aloneWorld()
	if err != nil {
		return err
	}
	w.Alone, w.Type, w.Place = cmp.Or(b.node, w.Alone), b.kind, b.place
	if b.file != "" {
		file, problems := spec.Load(b.file)
		if file == nil {
			return fmt.Errorf("read the cluster file: %w", problems.Err())
		}
		w.File, w.FilePath = file, b.file
		w.Workload, _ = spec.LoadWorkload(b.models, file)
	}
	report, err := suite.Run(ctx, w, suite.Options{Suites: o.suites, Budget: o.budget, Diagnosis: o.diagnosis})
	if err != nil {
		return err
	}
	fitness := verify.FitnessOf(report, suite.Unfit(report))
	text, err := json.MarshalIndent(fitness, "", "  ")
	if err != nil {
		return fmt.Errorf("write what came of it: %w", err)
	}
	if b.out != "" {
		if err := whole.Write(b.out, append(text, '\n'), 0o644); err != nil {
			return fmt.Errorf("write what came of it: %w", err)
		}
	}
	a.note("%s", fitness.Said)
	if fitness.Unfit != "" {
		a.note("unfit: %s", fitness.Unfit)
		return fault.Exit(fault.ExitProblem)
	}
	return nil
}
