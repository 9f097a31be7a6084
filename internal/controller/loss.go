package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/slurm"
)

const (
	// lossKept is how long after Slurm knew of a loss the jobs that it hit are still
	// looked for. Slurm shows a job as failed when its nodes are done with it, for
	// which it waits longer than its MessageTimeout.
	lossKept = 2 * time.Minute
	// lossFresh is how long it pays to look often.
	lossFresh = 5 * time.Second
)

// awayAtMost is how long the gap between two controllers can be: a supervisor starts the
// next one within this time.
const awayAtMost = 10 * time.Second

// ended takes note of instances that ended without being asked to: a node's, and those of
// all further messages that wait.
func (c *Controller) ended(node string) {
	nodes := []string{node}
	for more := true; more; {
		select {
		case n := <-c.Fleet.Ended():
			nodes = append(nodes, n)
		default:
			more = false
		}
	}
	c.sure = true
	c.Events.Add(Event{Kind: "ended", Nodes: nodes, Reason: "it ended without being asked to"})
	for _, n := range nodes {
		c.losses = append(c.losses, fleet.Loss{Node: n, Alive: c.observed, Noticed: time.Now()})
	}
}

// lose takes note of nodes that lost their instance since before, without a message.
func (c *Controller) lose(w fleet.World, before time.Time) {
	known := map[string]bool{}
	for _, i := range w.Instances {
		known[i.Node] = true
	}
	for _, l := range c.losses {
		known[l.Node] = known[l.Node] || l.Told.IsZero()
	}
	for _, n := range w.Nodes {
		if n.State == fleet.Up && !known[n.Name] {
			c.losses = append(c.losses, fleet.Loss{Node: n.Name, Alive: before, Noticed: w.Now})
		}
	}
}

// noteDown takes note that nodes went down since the last look.
func (c *Controller) noteDown(now []slurm.Node) {
	for _, n := range now {
		if n.State.Down() && !c.lastSeen[n.Name].State.Down() {
			c.jobsSeen = false
		}
	}
}

// mourning tells whether there was a loss just now.
func (c *Controller) mourning() bool {
	return slices.ContainsFunc(c.losses, func(l fleet.Loss) bool { return time.Since(l.Noticed) < lossFresh })
}

// requeue has those jobs run again whose script failed because of a loss. It is
// called when Slurm has been told of all losses.
//
// It looks without a loss, too, when Slurm has set a node down by itself, and the first time:
// a controller before this one may have told Slurm of a loss as its last deed.
func (c *Controller) requeue(ctx context.Context) error {
	if len(c.losses) == 0 && c.jobsSeen {
		return nil
	}
	now := time.Now()
	for i := range c.losses {
		if c.losses[i].Told.IsZero() {
			c.losses[i].Told = now
		}
	}
	defer func() {
		c.losses = slices.DeleteFunc(c.losses, func(l fleet.Loss) bool { return now.Sub(l.Told) > lossKept })
	}()
	jobs, _, err := c.Jobs.Jobs(ctx)
	if err != nil {
		return fmt.Errorf("ask Slurm for its jobs: %w", err)
	}
	c.jobsSeen = true
	var errs []error
	for _, r := range fleet.Requeues(c.losses, jobsOf(jobs)) {
		errs = append(errs, c.runAgain(ctx, r, labelOf(jobs, r.Job)))
	}
	return errors.Join(errs...)
}

// labelOf is what Slurm calls one job alone: the number of an array's task may be the array's.
func labelOf(jobs []slurm.Job, id int) string {
	return jobs[slices.IndexFunc(jobs, func(j slurm.Job) bool { return j.ID == id })].Label()
}

// runAgain puts a job back into the queue, or ends it.
func (c *Controller) runAgain(ctx context.Context, r fleet.Requeue, label string) error {
	kind, act := "requeue", c.Jobs.Requeue
	if r.Cancel {
		kind, act = "cancel", c.Jobs.Cancel
	}
	if err := act(ctx, label); err != nil {
		return fmt.Errorf("%s job %s: %w", kind, label, err)
	}
	c.Events.Add(Event{Kind: kind, Nodes: r.Nodes, Reason: r.Reason})
	return nil
}

// jobsOf are Slurm's jobs in fleet's words. One whose nodes cannot be read is
// left out.
func jobsOf(from []slurm.Job) []fleet.Job {
	var to []fleet.Job
	for _, j := range from {
		nodes, err := slurm.Expand(j.NodeList)
		if err != nil {
			continue
		}
		to = append(to, fleet.Job{
			ID: j.ID, Nodes: nodes, Host: hostOf(j, nodes), Running: j.Batch && j.State == "RUNNING", Failed: j.State == "FAILED", Killed: killed(j.ExitCode), Requeue: j.Batch && j.Requeue,
			Started: j.StartTime, Ended: j.EndTime,
		})
	}
	return to
}

// killed tells whether a signal ended a script, or a program whose end is the
// script's: shells then exit with 128 and the signal's number.
func killed(e slurm.ExitCode) bool { return e.Signal != 0 || e.Code > 128 }

// hostOf is the node of a job's script: the one that Slurm names, or else the first.
func hostOf(j slurm.Job, nodes []string) string {
	if j.BatchHost != "" || len(nodes) == 0 {
		return j.BatchHost
	}
	return nodes[0]
}
