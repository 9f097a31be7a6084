//go:build linux

package suite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
	"github.com/muster-hpc/muster/internal/verify/judge"
	"github.com/muster-hpc/muster/internal/verify/load"
)

// What collectives take over gloo: messages of up to so many bytes, and so many seconds for all six, or up to glooMostSeconds where the
// machines are slow.
const (
	glooBytes, glooSeconds           = 64 << 20, 60
	rehearsedGloo, rehearsedGlooTime = 4 << 20, 20
	glooMostSeconds                  = 300
	// glooRanksAlone is how many ranks one machine has at most.
	glooRanksAlone = 8
	// glooLimit is what all of it may take: Python starts, and the ranks meet.
	glooLimit = 10 * time.Minute
)

// collectives measures the six collectives over gloo, which needs no GPU: what is proven is that ranks on all nodes meet, and that
// what they exchange is right.
func (r *run) collectives(ctx context.Context, s *verify.Suite) error {
	o := load.CollectiveOptions{Backend: "gloo", MaxBytes: glooBytes, Seconds: glooSeconds, LimitSeconds: glooMostSeconds, Ranks: len(r.alloc.nodes)}
	if r.Place == "local" {
		o.MaxBytes, o.Seconds = rehearsedGloo, rehearsedGlooTime
	}
	step := stepOptions{args: r.muster("collectives"), input: true, limit: glooLimit, image: r.Image}
	if r.Alone != "" {
		o.Ranks, o.Towards = min(max(2, runtime.NumCPU()), glooRanksAlone), r.towards()
		step.tasks = o.Ranks
	}
	return r.measured(ctx, s, o, step)
}

// measured runs torch's collectives in a step and has them judged.
func (r *run) measured(ctx context.Context, s *verify.Suite, o load.CollectiveOptions, step stepOptions) error {
	step = r.withProgram(step)
	r.Tell(fmt.Sprintf("%s meet over %s", count.Of(o.Ranks, "rank"), o.Backend))
	running, err := r.begin(ctx, step)
	if err != nil {
		return err
	}
	o.In, o.Out = running.out, running.in
	o.Begun = func(operation string) { r.Tell(operation + " over " + o.Backend) }
	told, err := load.MeasureCollectives(ctx, o)
	err = errors.Join(err, running.end())
	if blind := r.without(s, told); blind {
		return nil
	}
	for _, c := range told.Measured {
		seen := judge.CollectiveSeen{Collective: c, On: slurm.Compress(r.alloc.nodes), Wrong: told.Wrong, Note: told.Notes[c.Name]}
		seen = r.besideEarlier(seen, s.Name)
		seen.Right = expect.Bandwidth{Unknown: "what " + o.Backend + " comes to depends on the machine: compare with an earlier report"}
		if o.Backend == "nccl" {
			seen.Right = expect.BusBandwidth(r.ncclGroup(c.Name))
		}
		seen.Loose = r.loose()
		results, series := judge.Collective(seen)
		s.Results, s.Series = append(s.Results, results...), append(s.Series, series...)
	}
	for _, node := range slices.Sorted(maps.Keys(told.Broken)) {
		s.Results = append(s.Results, verify.Result{Check: "ranks", On: node, Verdict: verify.Fail, Want: "ranks of all nodes meet", Why: told.Broken[node], Required: true})
	}
	return err
}

// besideEarlier adds what an earlier report has of the collective, by as many nodes.
func (r *run) besideEarlier(seen judge.CollectiveSeen, suite string) judge.CollectiveSeen {
	if r.likened() {
		seen.Earlier, seen.EarlierSource = r.Earlier.Series(suite, seen.Name), r.Earlier.Source()
	}
	return seen
}

// without says which nodes could not take part.
func (r *run) without(s *verify.Suite, told load.Collectives) (blind bool) {
	for _, node := range slices.Sorted(maps.Keys(told.Blind)) {
		result := verify.Result{Check: "ranks", On: node, Verdict: verify.Blind, Want: "ranks of PyTorch on all nodes", Why: told.Blind[node]}
		if strings.Contains(result.Why, "torch") {
			result.Hint = "apt-get install python3-torch on the nodes, or --image with one that has it"
		}
		s.Results = append(s.Results, result)
	}
	return len(told.Blind) > 0
}
