//go:build linux

package suite

import (
	"context"
	"errors"
	"fmt"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/judge"
	"github.com/muster-hpc/muster/internal/verify/load"
	"github.com/muster-hpc/muster/internal/verify/pairs"
)

// How long each pair of nodes loads the network in a round. In a rehearsal all pairs share the processors of one machine.
const (
	trafficSeconds   = 2.0
	rehearsedSeconds = 0.3
)

// network measures between nodes, all pairs of a round at once, until it is known who is slow.
func (r *run) network(ctx context.Context, s *verify.Suite) (err error) {
	if len(r.alloc.nodes) < 2 {
		s.Results = append(s.Results, verify.Result{Check: "network", Verdict: verify.Skip, Why: "there is one node, and nobody to measure with"})
		return nil
	}
	step, err := r.begin(ctx, stepOptions{args: r.muster("traffic"), input: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, step.end()) }()
	traffic, err := load.OpenTraffic(ctx, load.TrafficOptions{Nodes: r.alloc.nodes, In: step.out, Out: step.in})
	if err != nil {
		return err
	}
	search, seconds := pairs.New(r.alloc.nodes, uint64(r.alloc.job)), trafficSeconds
	if r.Place == "local" {
		seconds = rehearsedSeconds
	}
	var rounds [][]load.Measured
	for all := search.Next(); len(all) > 0 && ctx.Err() == nil; all = search.Next() {
		r.Tell(fmt.Sprintf("round %d of at most %d: %s measure at once", len(rounds)+1, pairs.Most(len(r.alloc.nodes)), count.Of(len(all), "pair")))
		told := traffic.Round(ctx, wire(all), seconds)
		rounds = append(rounds, told)
		search.Take(taken(told))
	}
	err = traffic.Close()
	results, matrices := judge.Network(judge.NetworkSeen{Nodes: r.alloc.nodes, Rounds: rounds, Suspects: search.Verdicts(), NetworkMbps: r.networkMbps()})
	s.Results, s.Matrices = append(s.Results, results...), append(s.Matrices, matrices...)
	return err
}
