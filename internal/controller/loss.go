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

// mourning tells whether there was a loss just now.
func (c *Controller) mourning() bool {
	return slices.ContainsFunc(c.losses, func(l fleet.Loss) bool { return time.Since(l.Noticed) < lossFresh })
}

// requeue has those jobs run again whose script failed because of a loss. It is
// called when Slurm has been told of all losses.
func (c *Controller) requeue(ctx context.Context) error {
	if len(c.losses) == 0 {
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
	var errs []error
	for _, r := range fleet.Requeues(c.losses, jobsOf(jobs)) {
		if err := c.Jobs.Requeue(ctx, r.Job); err != nil {
			errs = append(errs, fmt.Errorf("requeue job %d: %w", r.Job, err))
			continue
		}
		c.Events.Add(Event{Kind: "requeue", Nodes: r.Nodes, Reason: r.Reason})
	}
	return errors.Join(errs...)
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
			ID: j.ID, Nodes: nodes, Failed: j.State == "FAILED", Killed: killed(j.ExitCode), Requeue: j.Batch && j.Requeue,
			Started: j.StartTime, Ended: j.EndTime,
		})
	}
	return to
}

// killed tells whether a signal ended a script, or a program whose end is the
// script's: shells then exit with 128 and the signal's number.
func killed(e slurm.ExitCode) bool { return e.Signal != 0 || e.Code > 128 }
