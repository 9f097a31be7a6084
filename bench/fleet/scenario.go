package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// nodesInAll is the size of the cluster.
const nodesInAll = 1000

// scenario is work for whoever resumes nodes.
type scenario struct {
	name, title string
	// strategy is ParallelCluster's ScalingStrategy.
	strategy   string
	jobs, each int
	// capacity is how many instances EC2 has.
	capacity int
	// interfaces is how many an instance has.
	interfaces int
	// round measures not the launch but a look at the fleet afterwards.
	round bool
}

const (
	whole  = "all-or-nothing"
	effort = "best-effort"
)

var scenarios = []scenario{
	{name: "whole", title: "1 job of 1,000 nodes, all or nothing", strategy: whole, jobs: 1, each: 1000, capacity: 2000, interfaces: 1},
	{name: "effort", title: "1 job of 1,000 nodes, best effort", strategy: effort, jobs: 1, each: 1000, capacity: 2000, interfaces: 1},
	{name: "fifty", title: "50 jobs of 20 nodes, all or nothing", strategy: whole, jobs: 50, each: 20, capacity: 2000, interfaces: 1},
	{name: "single", title: "1,000 jobs of one node", strategy: effort, jobs: 1000, each: 1, capacity: 2000, interfaces: 1},
	{name: "capacity", title: "1 job of 1,000 nodes, all or nothing, capacity for 700", strategy: whole, jobs: 1, each: 1000, capacity: 700, interfaces: 1},
	{name: "interfaces", title: "1 job of 1,000 nodes, all or nothing, 33 interfaces each", strategy: whole, jobs: 1, each: 1000, capacity: 2000, interfaces: 33},
	{name: "round", title: "a round over 1,000 nodes with 33 interfaces each", strategy: whole, jobs: 1, each: 1000, capacity: 2000, interfaces: 33, round: true},
}

// result is what was measured.
type result struct {
	wall, cpu time.Duration
	rssKiB    int64
	calls     map[string]int
	// addressed nodes have the address of an instance of theirs; launched instances
	// were ever there, left ones still are.
	addressed, launched, left int
}

// side is who is measured.
type side interface {
	// ready is called while Slurm has no job, and returns when a fleet of no nodes is
	// looked after.
	ready(ctx context.Context, s *slurm, env []string) error
	// resume resumes the nodes of jobs and returns when each has its address, or was
	// given up.
	resume(ctx context.Context, s *slurm, jobs []job, env []string) (result, error)
	// round looks at the fleet and at Slurm once, and does what has to be done.
	round(ctx context.Context, s *slurm, env []string) (result, error)
	end() error
}

// run does a scenario once, with a Slurm and an AWS of its own.
func (sc scenario) run(ctx context.Context, dir string, make func(dir string, sc scenario) (side, error), real latency) (r result, err error) {
	who, err := make(filepath.Join(dir, "side"), sc)
	if err != nil {
		return r, err
	}
	aws, err := startEndpoint(ctx, sc, real)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, aws.close()) }()
	s, err := startSlurm(ctx, filepath.Join(dir, "slurm"), nodesInAll)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if err := who.ready(ctx, s, aws.env()); err != nil {
		return r, errors.Join(err, who.end())
	}
	before, r, err := sc.launch(ctx, who, s, aws)
	if err = errors.Join(err, who.end()); err != nil {
		return r, err
	}
	if sc.round {
		before = aws.calls()
		if r, err = who.round(ctx, s, aws.env()); err != nil {
			return r, err
		}
	}
	r.calls = less(aws.calls(), before)
	nodes, err := s.nodes(ctx)
	if err != nil {
		return r, err
	}
	r.addressed = aws.addressed(nodes)
	r.launched, r.left = aws.instances()
	return r, nil
}

// launch submits the jobs and has their nodes resumed.
func (sc scenario) launch(ctx context.Context, who side, s *slurm, aws *endpoint) (before map[string]int, r result, err error) {
	jobs, err := s.submit(ctx, sc.jobs, sc.each)
	if err != nil {
		return nil, r, err
	}
	before = aws.calls()
	r, err = who.resume(ctx, s, jobs, aws.env())
	return before, r, err
}

// figures reads seconds of wall and of CPU, and KiB.
func figures(line string) (result, error) {
	var wall, cpu float64
	var kib int64
	if _, err := fmt.Sscan(line, &wall, &cpu, &kib); err != nil {
		return result{}, fmt.Errorf("read figures of %q: %w", line, err)
	}
	return result{wall: seconds(wall), cpu: seconds(cpu), rssKiB: kib}, nil
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// less are the calls that came after others.
func less(all, before map[string]int) map[string]int {
	out := map[string]int{}
	for name, n := range all {
		if n > before[name] {
			out[name] = n - before[name]
		}
	}
	return out
}
