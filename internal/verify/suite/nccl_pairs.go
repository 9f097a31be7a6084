//go:build linux

package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/judge"
	"github.com/muster-hpc/muster/internal/verify/pairs"
)

// slowOfNCCL finds the node that makes NCCL slow, where it is slow: all pairs of a round measure all_reduce at once.
func (r *run) slowOfNCCL(ctx context.Context, s *verify.Suite, by ncclMeans) error {
	if !slow(s.Results) {
		return nil
	}
	if len(r.alloc.nodes) < 3 {
		s.Results = append(s.Results, verify.Result{Check: "nccl-node", Verdict: verify.Skip, Why: count.Are(len(r.alloc.nodes), "node") + " too few to tell which is slow: three and more can"})
		return nil
	}
	seen := searched(ctx, r.alloc.nodes, uint64(r.alloc.job), by.pair, r.Tell)
	results, matrices := judge.NCCLNodes(seen)
	s.Results, s.Matrices = append(s.Results, results...), append(s.Matrices, matrices...)
	return ctx.Err()
}

// slow says that a collective was slower than it should be.
func slow(results []verify.Result) bool {
	return slices.ContainsFunc(results, func(r verify.Result) bool {
		return strings.HasSuffix(r.Check, "-bandwidth") && (r.Verdict == verify.Fail || r.Verdict == verify.Warn)
	})
}

// searched has pairs of nodes measure, all of a round at once, until it is known who is slow.
func searched(ctx context.Context, nodes []string, seed uint64, measure func(ctx context.Context, a, b string) (float64, error), tell func(string)) judge.NetworkSeen {
	seen := judge.NetworkSeen{Nodes: nodes}
	search := pairs.New(nodes, seed)
	for all := search.Next(); len(all) > 0 && ctx.Err() == nil; all = search.Next() {
		tell(fmt.Sprintf("all_reduce between pairs, round %d of at most %d: %s at once", len(seen.Rounds)+1, pairs.Most(len(nodes)), count.Of(len(all), "pair")))
		round, heard := make([]judge.Traffic, len(all)), make([]pairs.Measured, len(all))
		var pairing sync.WaitGroup
		for i, p := range all {
			pairing.Go(func() {
				round[i], heard[i] = judge.Traffic{A: p.A, B: p.B}, pairs.Measured{A: p.A, B: p.B}
				gbps, err := measure(ctx, p.A, p.B)
				if round[i].AB, round[i].BA, heard[i].GBps = gbps, gbps, gbps; err != nil && gbps == 0 {
					round[i].Err, heard[i].Err = err.Error(), err.Error()
				}
			})
		}
		pairing.Wait()
		if ctx.Err() != nil {
			break // a round that was cut off says nothing of its nodes
		}
		search.Take(heard)
		seen.Rounds = append(seen.Rounds, round)
	}
	seen.Suspects = search.Verdicts()
	return seen
}
