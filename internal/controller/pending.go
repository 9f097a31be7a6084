package controller

import (
	"context"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/slurm"
)

// pendingKept is how long a job is remembered whose nodes are not on their way up yet.
const pendingKept = time.Minute

// pendingJob is a job that waits for nodes, as ResumeProgram was told at a time.
type pendingJob struct {
	fleet.PendingJob
	at time.Time
}

// requested takes in calls of ResumeProgram. A call for a node that powers up already
// changes nothing for that node: its instance is on its way.
func (c *Controller) requested(calls []resumption) {
	renewed := map[int]bool{}
	for _, r := range calls {
		for _, n := range r.nodes {
			if !c.rising[n] {
				c.resumed[n] = r.at
			}
		}
		for _, w := range r.jobs {
			renewed[w.Job] = true
		}
	}
	now := time.Now()
	c.pending = slices.DeleteFunc(c.pending, func(w pendingJob) bool {
		waits := slices.ContainsFunc(w.Nodes, func(n string) bool { return c.rising[n] || c.launching[n] })
		return renewed[w.Job] || !waits && now.Sub(w.at) > pendingKept
	})
	for _, r := range calls {
		for _, w := range r.jobs {
			c.pending = append(c.pending, pendingJob{w, r.at})
		}
	}
}

// pendingFor are the jobs that wait for nodes. Slurm names them when it asks for the
// nodes; if it did not, as when a call was lost, it is asked now. Without an answer the
// nodes are launched for no job in particular.
func (c *Controller) pendingFor(ctx context.Context, nodes []fleet.Node) []fleet.PendingJob {
	wanted := map[string]bool{}
	for _, n := range nodes {
		wanted[n.Name] = true
	}
	var known []fleet.PendingJob
	for _, w := range c.pending {
		known = append(known, w.PendingJob)
	}
	pending := pendingOn(known, wanted)
	for _, w := range pending {
		for _, n := range w.Nodes {
			delete(wanted, n)
		}
	}
	if len(wanted) == 0 || c.Strategy == fleet.BestEffort {
		return pending
	}
	jobs, _, err := c.Jobs.Jobs(ctx)
	if err != nil {
		c.Log.Warn("nodes are launched for unknown jobs", "error", err)
		return pending
	}
	return append(pending, pendingOn(waiting(jobs), wanted)...)
}

// pendingOn are those of the pending jobs that wait for some of the nodes.
func pendingOn(all []fleet.PendingJob, nodes map[string]bool) []fleet.PendingJob {
	return slices.DeleteFunc(slices.Clone(all), func(w fleet.PendingJob) bool {
		return !slices.ContainsFunc(w.Nodes, func(n string) bool { return nodes[n] })
	})
}

// waiting are the jobs that have nodes and do not run yet, or no longer.
func waiting(jobs []slurm.Job) []fleet.PendingJob {
	var pending []fleet.PendingJob
	for _, j := range jobs {
		if j.Ended() || j.State == "PENDING" || j.NodeList == "" {
			continue
		}
		if nodes, err := slurm.Expand(j.NodeList); err == nil {
			pending = append(pending, fleet.PendingJob{Job: j.ID, Nodes: nodes})
		}
	}
	slices.SortStableFunc(pending, func(a, b fleet.PendingJob) int { return a.Job - b.Job })
	return pending
}

// untilWhen asks Slurm when jobs end, if an announced event makes that matter.
func (c *Controller) untilWhen(ctx context.Context, w *fleet.World) error {
	ailing := map[string]bool{}
	for _, i := range w.Instances {
		if len(i.Health) > 0 {
			ailing[i.Node] = true
		}
	}
	matters := slices.ContainsFunc(w.Nodes, func(n fleet.Node) bool {
		return ailing[n.Name] && n.State == fleet.Up && n.Busy && !n.Closed
	})
	if !matters {
		return nil
	}
	jobs, _, err := c.Jobs.Jobs(ctx)
	if err != nil {
		return err
	}
	until := map[string]time.Time{}
	for _, j := range jobs {
		nodes, err := slurm.Expand(j.NodeList)
		if err != nil || j.Ended() || j.State == "PENDING" {
			continue
		}
		for _, n := range nodes {
			if j.EndTime.After(until[n]) {
				until[n] = j.EndTime
			}
		}
	}
	for i := range w.Nodes {
		w.Nodes[i].Until = until[w.Nodes[i].Name]
	}
	return nil
}
