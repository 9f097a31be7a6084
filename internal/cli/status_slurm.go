package cli

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/muster-hpc/muster/internal/count"
	"github.com/muster-hpc/muster/internal/slurm"
)

// lookAtSlurm asks for nodes and jobs at the same time.
func (s *clusterStatus) lookAtSlurm(ctx context.Context, c slurm.Client) {
	ctx, cancel := limited(ctx)
	defer cancel()
	var jobs []slurm.Job
	var odd []slurm.Problem
	var jobsErr error
	var group sync.WaitGroup
	group.Go(func() { jobs, odd, jobsErr = c.Jobs(ctx) })
	nodes, err := c.Nodes(ctx)
	group.Wait()
	if err != nil {
		s.Blind = append(s.Blind, fmt.Sprintf("nodes: %v", err))
	} else {
		s.judgeNodes(nodes)
	}
	if jobsErr != nil {
		s.Blind = append(s.Blind, fmt.Sprintf("jobs: %v", jobsErr))
		return
	}
	s.Jobs = countJobs(jobs)
	if len(odd) > 0 {
		s.Blind = append(s.Blind, fmt.Sprintf("jobs: %s cannot be read", count.Of(len(odd), "row")))
	}
}

// nodeStates are what nodes do, in the order in which they are shown.
var nodeStates = []string{"allocated", "mixed", "completing", "idle", "maintenance", "powering up", "powering down", "powered down",
	"draining", "drained", "not responding", "down", "unknown"}

// nodeState is what a node does, in one word of nodeStates.
func nodeState(s slurm.NodeState) string {
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

func (s *clusterStatus) judgeNodes(nodes []slurm.Node) {
	byState, byReason := map[string][]string{}, map[string][]string{}
	for _, n := range nodes {
		state := nodeState(n.State)
		byState[state] = append(byState[state], n.Name)
		if slices.Contains(troubled, state) {
			why := state
			if n.Reason != "" {
				why += ": " + n.Reason
			}
			byReason[why] = append(byReason[why], n.Name)
		}
	}
	s.Nodes = &nodesStatus{Total: len(nodes)}
	for _, state := range nodeStates {
		if names := byState[state]; len(names) > 0 {
			s.Nodes.States = append(s.Nodes.States, nodesState{State: state, Count: len(names), Nodes: slurm.Compress(names)})
		}
	}
	for _, why := range sortedKeys(byReason) {
		s.needs("%s: %s", slurm.Compress(byReason[why]), why)
	}
	if len(byReason) > 0 {
		s.needs("to take nodes back into service: muster exec -- scontrol update NodeName=NAMES State=RESUME")
	}
}

func countJobs(jobs []slurm.Job) *jobsStatus {
	var n jobsStatus
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
