package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// nodesInAll is the size of the cluster, whatever a scenario wants of it; nodesInFew
// is how many nodes are enough to see that everything can be measured.
const (
	nodesInAll = 1000
	nodesInFew = 40
)

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

// scenarios are those for so many nodes, a multiple of 20.
func scenarios(n int) []scenario {
	all := thousands(n)
	return []scenario{
		{name: "whole", title: "1 job of " + all + " nodes, all or nothing", strategy: whole, jobs: 1, each: n, capacity: 2 * n, interfaces: 1},
		{name: "effort", title: "1 job of " + all + " nodes, best effort", strategy: effort, jobs: 1, each: n, capacity: 2 * n, interfaces: 1},
		{name: "fifty", title: thousands(n/20) + " jobs of 20 nodes, all or nothing", strategy: whole, jobs: n / 20, each: 20, capacity: 2 * n, interfaces: 1},
		{name: "single", title: all + " jobs of one node", strategy: effort, jobs: n, each: 1, capacity: 2 * n, interfaces: 1},
		{name: "capacity", title: "1 job of " + all + " nodes, all or nothing, capacity for " + thousands(n*7/10), strategy: whole, jobs: 1, each: n, capacity: n * 7 / 10, interfaces: 1},
		{name: "interfaces", title: "1 job of " + all + " nodes, all or nothing, 33 interfaces each", strategy: whole, jobs: 1, each: n, capacity: 2 * n, interfaces: 33},
		{name: "round", title: "a round over " + all + " nodes with 33 interfaces each", strategy: whole, jobs: 1, each: n, capacity: 2 * n, interfaces: 33, round: true},
	}
}

// thousands is a number below a million, with a comma.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// nodes is how many are wanted.
func (sc scenario) nodes() int { return sc.jobs * sc.each }

// chosen are the scenarios with these names, all without a name.
func chosen(all []scenario, names []string) ([]scenario, error) {
	if len(names) == 0 {
		return all, nil
	}
	var some []scenario
	for _, name := range names {
		i := slices.IndexFunc(all, func(sc scenario) bool { return sc.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no scenario %q", name)
		}
		some = append(some, all[i])
	}
	return some, nil
}

// proof is nil if the scenario was measured: time and memory were used, and the
// nodes that can have an instance have one.
func (sc scenario) proof(r result) error {
	want := sc.nodes()
	if sc.capacity < want {
		want = 0 // all or nothing
	}
	switch {
	case r.wall <= 0 || r.cpu <= 0 || r.rssKiB <= 0:
		return fmt.Errorf("nothing was measured: %s of wall, %s of CPU, %d KiB", r.wall, r.cpu, r.rssKiB)
	case r.addressed != want:
		return fmt.Errorf("%d nodes have an address instead of %d", r.addressed, want)
	}
	return nil
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
func (sc scenario) run(ctx context.Context, dir string, make maker, real latency) (r result, err error) {
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
