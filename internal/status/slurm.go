package status

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/slurm"
)

// LookAtSlurm asks for nodes and jobs at the same time.
func (c *Cluster) LookAtSlurm(ctx context.Context, s slurm.Client) {
	ctx, cancel := slurm.Limited(ctx)
	defer cancel()
	var jobs []slurm.Job
	var odd []slurm.Problem
	var jobsErr error
	var group sync.WaitGroup
	group.Go(func() { jobs, odd, jobsErr = s.Jobs(ctx) })
	nodes, err := s.Nodes(ctx)
	group.Wait()
	if err != nil {
		c.Unseen("nodes: %v", err)
	} else {
		c.JudgeNodes(nodes)
	}
	if jobsErr != nil {
		c.Unseen("jobs: %v", jobsErr)
		return
	}
	c.Jobs = CountJobs(jobs)
	if len(odd) > 0 {
		c.Unseen("jobs: %s cannot be read", count.Of(len(odd), "row"))
	}
}

// nodeStates are what nodes do, in the order in which they are shown.
var nodeStates = []string{"allocated", "mixed", "completing", "idle", "maintenance", "powering up", "powering down", "powered down",
	"draining", "drained", "not responding", "down", "unknown"}

// NodeState is what a node does, in one word of nodeStates.
func NodeState(s slurm.NodeState) string {
	switch {
	case s.PoweringDown():
		return "powering down"
	case s.Down():
		return "down"
	case s.Draining() && s.Busy():
		return "draining"
	case s.Draining():
		return "drained"
	case s.PoweredDown():
		return "powered down"
	case s.PoweringUp():
		return "powering up"
	case s.Has(slurm.FlagNotResponding):
		return "not responding"
	case s.Base == slurm.BaseAllocated:
		return "allocated"
	case s.Base == slurm.BaseMixed:
		return "mixed"
	case s.Has(slurm.FlagCompleting):
		return "completing"
	case s.Has(slurm.FlagMaintenance):
		return "maintenance"
	case s.Base == slurm.BaseIdle:
		return "idle"
	}
	return "unknown"
}

// troubled are the states in which a node needs a look.
var troubled = []string{"draining", "drained", "not responding", "down", "unknown"}

// JudgeNodes says what nodes do, and which need a look.
func (c *Cluster) JudgeNodes(nodes []slurm.Node) {
	byState, byReason := map[string][]string{}, map[string][]string{}
	for _, n := range nodes {
		state := NodeState(n.State)
		byState[state] = append(byState[state], n.Name)
		if slices.Contains(troubled, state) {
			why := state
			if n.Reason != "" {
				why += ": " + n.Reason
			}
			byReason[why] = append(byReason[why], n.Name)
		}
	}
	c.Nodes = &Nodes{Total: len(nodes)}
	for _, state := range nodeStates {
		if names := byState[state]; len(names) > 0 {
			c.Nodes.States = append(c.Nodes.States, NodesState{State: state, Count: len(names), Nodes: slurm.Compress(names)})
		}
	}
	for _, why := range slices.Sorted(maps.Keys(byReason)) {
		c.Needs("%s: %s", slurm.Compress(byReason[why]), why)
	}
	if len(byReason) > 0 {
		c.Needs("to take nodes back into service: muster exec -- scontrol update NodeName=NAMES State=RESUME")
	}
}

// CountJobs counts those that have not ended.
func CountJobs(jobs []slurm.Job) *Jobs {
	var n Jobs
	for _, j := range jobs {
		switch j.State {
		case "RUNNING":
			n.Running++
		case "CONFIGURING":
			n.Starting++
		case "COMPLETING":
			n.Completing++
		case "SUSPENDED", "STOPPED":
			n.Suspended++
		case "PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED":
			n.Pending++
		}
	}
	return &n
}
