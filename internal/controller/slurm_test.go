package controller_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/provider/providertest"
	"github.com/muster-hpc/muster/internal/slurm"
)

// What slurmctld 22.05 waits for, in the model.
const (
	powerInterval  = time.Second
	suspendTimeout = 2 * time.Second
	resumeTimeout  = 2 * time.Minute
	idleTime       = 10 * time.Minute
	requeueDelay   = 6 * time.Second
	bootTime       = 300 * time.Millisecond
)

// slurmctld is a model of Slurm: a controller, and a slurmd on every instance of
// the place. It behaves as 22.05 was seen to.
type slurmctld struct {
	place provider.Provider

	mu sync.Mutex // guards what follows
	// resume and suspend are its programs.
	resume, suspend func(nodes []string)

	silent error
	deaf   error // to updates
	nodes  map[string]*slurmNode
	jobs   []*slurmJob
	// partitions have their state, UP if none.
	partitions map[string]string
	// reservations have their nodes.
	reservations map[string][]string
	addressCalls int
	// forgetful: the next job's nodes are forgotten to need a power-up.
	forgetful bool
	forgotten map[string]bool
}

type slurmNode struct {
	slurm.Node
	since    time.Time // of its power-up or power-down, or of its last job
	instance string    // that registered last
	slow     bool      // its slurmd never answers
}

type slurmJob struct {
	slurm.Job
	count   int
	queue   string // "" is any
	length  time.Duration
	nodes   []string
	started bool
	begin   time.Time // not before
	end     time.Time
}

func newSlurm(place *providertest.Fake, nodes ...string) *slurmctld {
	s := &slurmctld{place: place.Again(), nodes: map[string]*slurmNode{}, partitions: map[string]string{}, reservations: map[string][]string{}, forgotten: map[string]bool{}, resume: func([]string) {}, suspend: func([]string) {}}
	for _, name := range nodes {
		queue, _, _ := strings.Cut(name, "-")
		n := &slurmNode{Node: slurm.Node{Name: name, Partitions: []string{queue}, Features: []string{"dynamic"}, Address: name}}
		if strings.Contains(name, "-st-") {
			n.Features = []string{"static"}
		}
		n.State = slurm.NodeState{Base: slurm.BaseIdle, Flags: slurm.FlagCloud | slurm.FlagPoweredDown}
		s.nodes[name] = n
	}
	return s
}

// run is slurmctld's power thread and scheduler, until ctx ends.
func (s *slurmctld) run(ctx context.Context) {
	tick := time.NewTicker(powerInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if s.quiet() {
			continue
		}
		instances, err := s.place.Observe(ctx)
		if err != nil {
			continue
		}
		resumed, suspended := s.step(time.Now(), instances)
		s.mu.Lock()
		resume, suspend := s.resume, s.suspend
		s.mu.Unlock()
		if len(suspended) > 0 {
			suspend(suspended)
		}
		if len(resumed) > 0 {
			resume(resumed)
		}
	}
}

// programs sets ResumeProgram and SuspendProgram.
func (s *slurmctld) programs(resume, suspend func([]string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resume, s.suspend = resume, suspend
}

// slow lets a node's slurmd never answer, or answer again.
func (s *slurmctld) slow(node string, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes[node].slow = is
}

// mute has a node noted as one that does not answer.
func (s *slurmctld) mute(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodes[node].set(slurm.FlagNotResponding)
}

func (s *slurmctld) quiet() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.silent != nil
}

func (s *slurmctld) step(now time.Time, instances []provider.Instance) (resumed, suspended []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.register(now, instances)
	s.runJobs(now)
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		n := s.nodes[name]
		busy := s.jobOn(name) != nil
		switch {
		case n.State.Down() && n.has(slurm.FlagPowerDownRequested):
			delete(s.forgotten, name)
			n.clear(slurm.FlagPowerDownRequested | slurm.FlagPoweringUp | slurm.FlagPoweredDown)
			n.set(slurm.FlagPoweringDown)
			n.State.Base, n.since = slurm.BaseIdle, now
			suspended = append(suspended, name)
		case n.has(slurm.FlagPoweringUp) && now.Sub(n.since) > resumeTimeout:
			n.clear(slurm.FlagPoweringUp)
			n.set(slurm.FlagPoweredDown)
			s.fail(n, "ResumeTimeout reached", now)
		case n.has(slurm.FlagPoweringUp):
		case n.has(slurm.FlagPoweringDown) && now.Sub(n.since) >= suspendTimeout:
			n.clear(slurm.FlagPoweringDown | slurm.FlagDrain)
			n.set(slurm.FlagPoweredDown)
			n.State.Base, n.instance = slurm.BaseIdle, ""
		case n.has(slurm.FlagPoweringDown):
		case n.has(slurm.FlagPoweredDown) && (n.has(slurm.FlagPowerUpRequested) || busy && !s.forgotten[name]):
			n.clear(slurm.FlagPoweredDown | slurm.FlagPowerUpRequested)
			n.set(slurm.FlagPoweringUp)
			n.since = now
			resumed = append(resumed, name)
		case n.has(slurm.FlagPoweredDown) && !n.has(slurm.FlagPowerDownRequested):
		case n.has(slurm.FlagPowerDownRequested) && !busy, n.idle() && !busy && now.Sub(n.since) > idleTime && n.Features[0] != "static":
			n.clear(slurm.FlagPowerDownRequested | slurm.FlagPoweredDown | slurm.FlagNotResponding)
			n.set(slurm.FlagPoweringDown)
			n.State.Base, n.since = slurm.BaseIdle, now
			suspended = append(suspended, name)
		}
	}
	return resumed, suspended
}

// register takes note of what the nodes' slurmd say.
func (s *slurmctld) register(now time.Time, instances []provider.Instance) {
	for _, i := range instances {
		n := s.nodes[i.Node]
		if n == nil || n.slow || now.Sub(i.Started) < bootTime || i.ID == n.instance {
			continue
		}
		switch {
		case n.has(slurm.FlagPoweringUp) && !i.Started.Before(n.since):
			n.clear(slurm.FlagPoweringUp)
			n.instance, n.since = i.ID, now
		case n.idle() && n.instance != "":
			s.fail(n, "Node unexpectedly rebooted", now)
		}
	}
}

// idle tells whether the node is in service, with a job or without.
func (n *slurmNode) idle() bool {
	return n.State.Flags&^(slurm.FlagCloud|slurm.FlagPowerDownRequested|slurm.FlagDrain) == 0 && !n.State.Down()
}

func (n *slurmNode) has(f slurm.Flag) bool { return n.State.Has(f) }
func (n *slurmNode) set(f slurm.Flag)      { n.State.Flags |= f }
func (n *slurmNode) clear(f slurm.Flag)    { n.State.Flags &^= f }

// fail sets a node down; its job goes back into the queue.
func (s *slurmctld) fail(n *slurmNode, reason string, now time.Time) {
	n.State.Base, n.Reason, n.ReasonTime = slurm.BaseDown, reason, now
	if j := s.jobOn(n.Name); j != nil {
		j.stop("NODE_FAIL", now)
		if j.Requeue {
			j.again(now)
		}
		s.free(j, now)
	}
}

func (s *slurmctld) jobOn(node string) *slurmJob {
	i := slices.IndexFunc(s.jobs, func(j *slurmJob) bool { return j.State == "RUNNING" && slices.Contains(j.nodes, node) })
	if i < 0 {
		return nil
	}
	return s.jobs[i]
}

// runJobs starts and ends jobs.
func (s *slurmctld) runJobs(now time.Time) {
	for _, j := range s.jobs {
		switch {
		case j.State == "RUNNING" && j.started && !now.Before(j.end):
			j.stop("COMPLETED", now)
			s.free(j, now)
		case j.State == "RUNNING" && !j.started:
			j.started = !slices.ContainsFunc(j.nodes, func(n string) bool { return !s.nodes[n].idle() })
			j.end = now.Add(j.length)
		case j.State == "PENDING" && !now.Before(j.begin):
			s.allocate(j, now)
		}
	}
}

func (s *slurmctld) allocate(j *slurmJob, now time.Time) {
	var free []string
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		n := s.nodes[name]
		barred := slurm.FlagNotResponding | slurm.FlagDrain | slurm.FlagPoweringDown | slurm.FlagPoweringUp | slurm.FlagPowerDownRequested
		if s.open(n, j) && n.State.Base == slurm.BaseIdle && n.State.Flags&barred == 0 && len(free) < j.count {
			free = append(free, name)
		}
	}
	if len(free) < j.count {
		return
	}
	for _, n := range free {
		s.nodes[n].State.Base = slurm.BaseAllocated
	}
	s.forget(free)
	j.nodes, j.NodeList, j.State, j.started = free, slurm.Compress(free), "RUNNING", false
	j.StartTime = now.Truncate(time.Second)
}

// forget has slurmctld die and start again when it knows that a job has nodes, and no
// more that they have to be powered up for it.
func (s *slurmctld) forget(nodes []string) {
	if !s.forgetful {
		return
	}
	s.forgetful = false
	for _, name := range nodes {
		s.forgotten[name] = true
	}
}

// open tells whether a job may have a node, for all that the node's state says.
func (s *slurmctld) open(n *slurmNode, j *slurmJob) bool {
	q := n.Partitions[0]
	held := slices.ContainsFunc(slices.Collect(maps.Values(s.reservations)), func(r []string) bool { return slices.Contains(r, n.Name) })
	return s.partitions[q] != "INACTIVE" && (j.queue == "" || j.queue == q) && !held
}

func (s *slurmctld) free(j *slurmJob, now time.Time) {
	for _, name := range j.nodes {
		if n := s.nodes[name]; n.State.Base == slurm.BaseAllocated {
			n.State.Base, n.since = slurm.BaseIdle, now
		}
	}
}

func (j *slurmJob) stop(state string, now time.Time) {
	j.State, j.EndTime = state, now.Truncate(time.Second)
}

func (j *slurmJob) again(now time.Time) {
	j.State, j.begin = "PENDING", now.Add(requeueDelay)
	j.Restarts++
}

// submit puts a batch job into the queue.
func (s *slurmctld) submit(nodes int, length time.Duration) *slurmJob {
	return s.submitTo("", nodes, length)
}

// submitTo is submit to a partition.
func (s *slurmctld) submitTo(queue string, nodes int, length time.Duration) *slurmJob {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := &slurmJob{count: nodes, length: length, queue: queue}
	j.ID, j.State, j.Batch, j.Requeue = len(s.jobs)+1, "PENDING", true, true
	s.jobs = append(s.jobs, j)
	return j
}

// scriptFails ends a job as its own script does.
func (s *slurmctld) scriptFails(j *slurmJob) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	j.stop("FAILED", now)
	s.free(j, now)
}

// silence lets slurmctld answer nobody; nil ends that.
func (s *slurmctld) silence(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = err
}

func (s *slurmctld) state(node string) slurm.NodeState { return s.node(node).State }

func (s *slurmctld) node(name string) slurm.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nodes[name].Node
}

func (s *slurmctld) job(j *slurmJob) slurm.Job {
	s.mu.Lock()
	defer s.mu.Unlock()
	return j.Job
}
