//go:build linux

package cli

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/burnin"
	"github.com/muster-hpc/muster/internal/verify/suite"
)

// burnIn is a new node before its first job.
type burnIn struct{ node, kind, place, out string }

// agentBurnIn has a new node prove itself alone as muster.yaml wishes, before it is Slurm's. What came of it is in a directory; a machine
// that is unfit, or could not begin, ends it with exit code 1.
func (a *app) agentBurnIn() *cobra.Command {
	var b burnIn
	c := &cobra.Command{
		Use:   "burn-in",
		Short: "Has a new node prove itself alone, under load",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			fitness, err := a.burnIn(c.Context(), b)
			if err != nil {
				fitness = verify.Fitness{Schema: 1, Unfit: "the burn-in could not begin: " + err.Error()}
			}
			if c.Context().Err() != nil {
				return context.Cause(c.Context()) // nobody waits for it any more
			}
			if err := burnin.KeepFitness(b.out, fitness); err != nil {
				return err
			}
			if fitness.Unfit != "" {
				for _, line := range append(fitness.Evidence, "unfit: "+fitness.Unfit) {
					a.note("%s", line)
				}
				return fault.Exit(fault.ExitProblem)
			}
			a.note("%s", fitness.Said)
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&b.node, "node", nodeName(), "the node's `NAME`")
	f.StringVar(&b.kind, "type", "", "its instance `TYPE`")
	f.StringVar(&b.place, "place", "aws", "the `PLACE` of the cluster")
	f.StringVar(&b.out, "out", "", "the `DIR` for what came of it")
	_ = c.MarkFlagRequired("out")
	return c
}

func (a *app) burnIn(ctx context.Context, b burnIn) (verify.Fitness, error) {
	w, err := a.aloneWorld()
	if err != nil {
		return verify.Fitness{}, err
	}
	w.Alone, w.Type, w.Place = b.node, b.kind, b.place
	if w.File == nil {
		return verify.Fitness{}, fmt.Errorf("%s cannot be read", services.ClusterFile)
	}
	if w.Workload, err = wishes(w.File); err != nil {
		return verify.Fitness{}, err
	}
	wish := w.Workload.BurnInOf(queueOf(w.File, b.node))
	if wish == nil {
		return verify.Fitness{Schema: 1, Said: "muster.yaml asks this node for nothing"}, nil
	}
	report, err := suite.Run(ctx, w, suite.Options{Suites: wish.Suites, Budget: wish.Limit(), Diagnosis: wish.DiagnosisLevel})
	if err != nil {
		return verify.Fitness{}, err
	}
	if err := burnin.KeepReport(b.out, report); err != nil {
		a.note("the report is not kept: %v", err) // what it comes to is
	}
	return verify.FitnessOf(report, suite.Unfit(report)), nil
}

// wishes is muster.yaml, which is empty where the user has none. What cannot be read asks for something that nobody knows.
func wishes(c *spec.Cluster) (*spec.Workload, error) {
	text, err := os.ReadFile(services.WorkloadFile)
	if err != nil || len(text) == 0 {
		return &spec.Workload{}, err
	}
	w, problems := spec.ParseWorkload(services.WorkloadFile, text, c)
	if w == nil {
		return nil, problems.Err()
	}
	return w, nil
}

// queueOf is the queue of a node, by its name.
func queueOf(c *spec.Cluster, node string) string {
	name, _ := slurm.ParseNodeName(node, func(n slurm.NodeName) bool {
		return slices.ContainsFunc(c.Scheduling.Queues, func(q spec.Queue) bool {
			return q.Name == n.Queue && slices.ContainsFunc(q.ComputeResources, func(r spec.ComputeResource) bool { return r.Name == n.Name })
		})
	})
	return name.Queue
}
