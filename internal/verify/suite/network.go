//go:build linux

package suite

import (
	"context"
	"errors"
	"fmt"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
	"github.com/muster-hpc/muster/internal/verify/judge"
	"github.com/muster-hpc/muster/internal/verify/load"
	"github.com/muster-hpc/muster/internal/verify/pairs"
)

// How each pair of nodes loads the network in a round. In a rehearsal all pairs share the processors of one machine, so that without a
// bound they would measure how they share these.
const (
	trafficSeconds   = 2.0
	rehearsedSeconds = 0.5
	rehearsedMost    = 0.02 // GB/s
	// rehearsedAll is what all nodes together send, which two cores do with time to spare.
	rehearsedAll = 0.32 // GB/s
	// rehearsedLeast is by what factor a pair is slow: of 40 pairs at once on two cores, one in twenty has three quarters of the middle.
	rehearsedLeast = 2
)

// rehearsedCap is the bound of each node in GB/s.
func rehearsedCap(nodes int) float64 { return min(rehearsedMost, rehearsedAll/float64(nodes)) }

// rehearsal is why numbers of a local cluster are not judged.
const rehearsal = "a rehearsal: all nodes are this machine"

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
	o, seconds := load.TrafficOptions{Nodes: r.alloc.nodes, In: step.out, Out: step.in, Streams: expect.Streams}, trafficSeconds
	seen := judge.NetworkSeen{Nodes: r.alloc.nodes, Right: r.traffic()}
	if r.Place == "local" {
		o.CapGBps, seen.Unjudged = rehearsedCap(len(r.alloc.nodes)), rehearsal
		seen.CapGBps = o.CapGBps
		seconds = rehearsedSeconds * rehearsedMost / o.CapGBps // a pair sends as much as among few
	}
	traffic, err := load.OpenTraffic(ctx, o)
	if err != nil {
		return err
	}
	search := pairs.New(r.alloc.nodes, uint64(r.alloc.job))
	if r.Place == "local" {
		search.Least = rehearsedLeast
	}
	rounds, err := r.rounds(ctx, search, func(all []load.Pair) []load.Measured { return traffic.Round(ctx, all, seconds) })
	if err != nil {
		return errors.Join(err, traffic.Close())
	}
	seen.Rounds, seen.Suspects = rounds, search.Verdicts()
	results, matrices := judge.Network(seen)
	s.Results, s.Matrices = append(s.Results, results...), append(s.Matrices, matrices...)
	return traffic.Close()
}

// rounds measures until the search knows who is slow. A round that was cut off is nobody's measurement: in it all were slow.
func (r *run) rounds(ctx context.Context, search *pairs.Search, round func([]load.Pair) []load.Measured) (rounds [][]judge.Traffic, err error) {
	for all := search.Next(); len(all) > 0; all = search.Next() {
		r.Tell(fmt.Sprintf("round %d of at most %d: %s at once", len(rounds)+1, pairs.Most(len(r.alloc.nodes)), count.Of(len(all), "pair")))
		told := round(asked(all))
		if ctx.Err() != nil {
			return rounds, context.Cause(ctx)
		}
		heard := heardOf(told)
		if search.Least > 0 { // what a round trip takes is when a processor is free
			for i := range heard {
				heard[i].LatencyUs = 0
			}
		}
		search.Take(heard)
		rounds = append(rounds, toldOf(told))
	}
	return rounds, nil
}

// traffic is what two of the nodes should come to.
func (r *run) traffic() expect.Bandwidth {
	if kind, ok := r.kind(); ok {
		return expect.Traffic(kind.Type, expect.Streams)
	}
	return expect.Bandwidth{Unknown: "the nodes' instance type is not known, or they have several"}
}

func asked(all []pairs.Pairing) []load.Pair {
	var out []load.Pair
	for _, p := range all {
		out = append(out, load.Pair{A: p.A, B: p.B})
	}
	return out
}

// heardOf is what the search hears: the slower way of a pair.
func heardOf(all []load.Measured) []pairs.Measured {
	var out []pairs.Measured
	for _, m := range all {
		out = append(out, pairs.Measured{A: m.A, B: m.B, GBps: min(m.AB, m.BA), LatencyUs: m.MedianUs, Err: m.Err})
	}
	return out
}

func toldOf(all []load.Measured) []judge.Traffic {
	var out []judge.Traffic
	for _, m := range all {
		out = append(out, judge.Traffic(m))
	}
	return out
}
