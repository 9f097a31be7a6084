package controller

import (
	"context"
	"net/http"
	"time"
)

// looker is somebody who waits for a round.
type looker struct {
	since time.Time
	done  chan struct{}
}

// Settle returns when a round that began after the call has done all that it
// decided, or when ctx ends. After the death of a whole machine Slurm's saved state
// still calls nodes up that are no more, and gives them to the next job; a round
// sets them down.
func (c *Controller) Settle(ctx context.Context) error {
	l := &looker{since: time.Now(), done: make(chan struct{})}
	c.mu.Lock()
	c.lookers[l] = true
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.lookers, l)
		c.mu.Unlock()
	}()
	c.Wake()
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// settled tells those who wait that a round was done that began at some time.
func (c *Controller) settled(began time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l := range c.lookers {
		if l.since.Before(began) {
			delete(c.lookers, l)
			close(l.done)
		}
	}
}

func (c *Controller) serveSettle(w http.ResponseWriter, r *http.Request) {
	if err := c.Settle(r.Context()); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
