package controller

import (
	"context"
	"time"

	"github.com/muster-hpc/muster/internal/fleet"
)

// waiter is a job that waits for its nodes.
type waiter struct {
	nodes map[string]bool
	since time.Time
	ready chan struct{}
}

// Await returns when none of the nodes is on its way up any more, or when ctx
// ends. Slurm's PrologSlurmctld calls it: slurmctld starts a batch job when that
// ends, and by itself would look only every 30 seconds whether the nodes are up
// (PERIODIC_TIMEOUT in slurmctld.h of 22.05).
func (c *Controller) Await(ctx context.Context, nodes []string) error {
	w := &waiter{nodes: map[string]bool{}, since: time.Now(), ready: make(chan struct{})}
	for _, n := range nodes {
		w.nodes[n] = true
	}
	c.mu.Lock()
	c.waiters[w] = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiters, w)
		c.mu.Unlock()
	}()
	c.Wake()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// awaited tells whether somebody waits for nodes.
func (c *Controller) awaited() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiters) > 0
}

// release lets those go on whose nodes are not on their way up any more: all are
// up, or one was given up. looked is when the nodes were asked for.
func (c *Controller) release(nodes []fleet.Node, looked time.Time) {
	rising := map[string]bool{}
	for _, n := range nodes {
		switch n.State {
		case fleet.Asked, fleet.PoweringUp, fleet.PoweringDown:
			rising[n.Name] = true
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.waiters {
		if w.since.Before(looked) && !w.waits(rising) {
			delete(c.waiters, w)
			close(w.ready)
		}
	}
}

func (w *waiter) waits(rising map[string]bool) bool {
	for n := range w.nodes {
		if rising[n] {
			return true
		}
	}
	return false
}
