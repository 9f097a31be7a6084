package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
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

// side is who is measured: commands that resume nodes, and that look at the fleet.
type side interface {
	resume(ctx context.Context, s *slurm, jobs []job, env []string) (*exec.Cmd, error)
	round(ctx context.Context, s *slurm, env []string) *exec.Cmd
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
	jobs, err := s.submit(ctx, sc.jobs, sc.each)
	if err != nil {
		return r, err
	}
	c, err := who.resume(ctx, s, jobs, aws.env())
	if err != nil {
		return r, err
	}
	before := aws.calls()
	if r, err = measure(c); err != nil {
		return r, err
	}
	if sc.round {
		before = aws.calls()
		if r, err = measureRound(who.round(ctx, s, aws.env())); err != nil {
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

// measure runs a command to its end. CPU time is that of its children, too.
func measure(c *exec.Cmd) (result, error) {
	began := time.Now()
	out, err := c.CombinedOutput()
	r := result{wall: time.Since(began)}
	if err != nil {
		return r, fmt.Errorf("%s: %w: %s", c.Path, err, out)
	}
	usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return r, errors.New("this system does not say what a process used")
	}
	r.cpu, r.rssKiB = c.ProcessState.UserTime()+c.ProcessState.SystemTime(), usage.Maxrss
	return r, nil
}

// measureRound runs a command that measures itself: it prints seconds of wall and of
// CPU, and KiB.
func measureRound(c *exec.Cmd) (result, error) {
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		return result{}, fmt.Errorf("%s: %w: %s", c.Path, err, said.String())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var numbers []float64
	for _, word := range strings.Fields(lines[len(lines)-1]) {
		n, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return result{}, fmt.Errorf("%s printed %q", c.Path, out)
		}
		numbers = append(numbers, n)
	}
	if len(numbers) != 3 {
		return result{}, fmt.Errorf("%s printed %q", c.Path, out)
	}
	return result{wall: seconds(numbers[0]), cpu: seconds(numbers[1]), rssKiB: int64(numbers[2])}, nil
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
