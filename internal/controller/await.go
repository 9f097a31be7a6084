package controller

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/fleet"
)

// waiter is a call that waits: for a round, and for nodes if there are some.
type waiter struct {
	nodes []string
	since time.Time
	ready chan struct{}
}

// Await returns when none of the nodes is on its way up any more, or when ctx
// ends. Slurm's PrologSlurmctld calls it: slurmctld starts a batch job when that
// ends, and by itself would look only every 30 seconds whether the nodes are up
// (PERIODIC_TIMEOUT in slurmctld.h of 22.05).
func (c *Controller) Await(ctx context.Context, nodes []string) error {
	return c.wait(ctx, c.waiters, nodes)
}

// wait is one of all the waiters of a kind, until it is ready.
func (c *Controller) wait(ctx context.Context, all map[*waiter]bool, nodes []string) error {
	w := &waiter{nodes: nodes, since: time.Now(), ready: make(chan struct{})}
	c.mu.Lock()
	all[w] = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(all, w)
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

// awaited tells whether a job waits for nodes.
func (c *Controller) awaited() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.waiters) > 0
}

// release ends the calls of Await whose nodes are no longer on their way up: all are up,
// or one was given up. looked is when Slurm was asked for the nodes.
func (c *Controller) release(nodes []fleet.Node, looked time.Time) {
	rising := map[string]bool{}
	for _, n := range nodes {
		switch n.State {
		case fleet.Asked, fleet.PoweringUp, fleet.PoweringDown:
			rising[n.Name] = true
		}
	}
	c.endWaits(c.waiters, rising, looked)
}

// endWaits ends the waits that began before a time and for none of some nodes.
func (c *Controller) endWaits(all map[*waiter]bool, rising map[string]bool, before time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range all {
		if w.since.Before(before) && !slices.ContainsFunc(w.nodes, func(n string) bool { return rising[n] }) {
			delete(all, w)
			close(w.ready)
		}
	}
}

// Settle returns when a round that began after the call has done all that it
// decided, or when ctx ends. After the death of a whole machine Slurm's saved state
// still has nodes up that are gone, and gives them to the next job; a round sets them
// down.
func (c *Controller) Settle(ctx context.Context) error {
	return c.wait(ctx, c.lookers, nil)
}

// settled ends the calls of Settle that came before a round which is done now began.
func (c *Controller) settled(began time.Time) { c.endWaits(c.lookers, nil, began) }

func (c *Controller) serveSettle(w http.ResponseWriter, r *http.Request) {
	reply(w, c.Settle(r.Context()), http.StatusServiceUnavailable, http.StatusNoContent)
}
