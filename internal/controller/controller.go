// Package controller is the head-node daemon. It brings together what Slurm
// wants, what the provider has and what fleet decides, round after round. It
// promises that a lost request, a late answer or its own death costs time and
// nothing else: every round starts from what is.
package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/slurm"
)

// nodeClient is the part of Slurm's client that is about nodes.
type nodeClient interface {
	Nodes(ctx context.Context) ([]slurm.Node, error)
	UpdateNodes(ctx context.Context, names []string, state, reason string) error
}

// addressClient is the part of it that tells Slurm where nodes answer.
type addressClient interface {
	SetAddresses(ctx context.Context, names, addresses []string) error
}

// jobClient is the part of it that is about jobs.
type jobClient interface {
	Jobs(ctx context.Context) ([]slurm.Job, []slurm.Problem, error)
	Requeue(ctx context.Context, id int) error
}

// partitionClient is the part of it that is about partitions.
type partitionClient interface {
	Partitions(ctx context.Context) ([]slurm.Partition, error)
	SetPartition(ctx context.Context, name, state string) error
}

// reservationClient is the part of it that is about reservations.
type reservationClient interface {
	Reservations(ctx context.Context) ([]slurm.Reservation, error)
	Reserve(ctx context.Context, name string, nodes []string) error
	Unreserve(ctx context.Context, name string) error
}

// Config is what a controller works with.
type Config struct {
	Fleet      provider.Provider
	Slurm      nodeClient
	Jobs       jobClient
	Partitions partitionClient
	// Addresses is nil where slurm.conf has the nodes' addresses.
	Addresses addressClient
	// Blocks says which capacity blocks there are; nil is none. Reservations hold
	// the nodes of those that are not active.
	Blocks       func(ctx context.Context) ([]fleet.Block, error)
	Reservations reservationClient

	Strategy fleet.Strategy
	Limits   fleet.Limits
	// Quiet is the time between two looks when nothing happens; zero is a few
	// seconds.
	Quiet time.Duration
	// State is the file that keeps what a user decided about the fleet: stopped, or
	// protected from boots that fail.
	State string
	// Cluster, Revision and Head are what machines that join are told. A Revision
	// that is new ends the fleet's protection.
	Cluster, Revision, Head string

	Events *Events
	Log    *slog.Logger
	// Exports may be nil.
	Exports *Exports
	// Share shows a directory of the user's machine on every machine of the cluster;
	// nil where they share none.
	Share func(dir string) error
}

// Controller keeps the fleet as Slurm wants it. New makes one.
type Controller struct {
	Config
	wake chan struct{}

	// losses are those that jobs may have failed of, observed is when the
	// instances were last seen. They are the rounds' own.
	losses   []fleet.Loss
	observed time.Time
	// failed is the action that ended the last round.
	failed fleet.Action

	mu sync.Mutex // guards what follows
	// resumed is World.Resumed, rising the nodes that the last look saw powering
	// up.
	resumed map[string]time.Time
	rising  map[string]bool
	waiters map[*waiter]bool
}

const (
	// A quiet round is a second look in case a message was lost.
	quietEvery = 5 * time.Second
	// After a change the next look comes soon, and sooner while a job waits for
	// its nodes.
	busyEvery  = 500 * time.Millisecond
	eagerEvery = 100 * time.Millisecond
	// When something did not answer, the round is repeated after this.
	retryAfter = time.Second
)

// New returns a controller that is ready to run.
func New(c Config) *Controller {
	return &Controller{
		Config: c, wake: make(chan struct{}, 1), observed: time.Now().Add(-awayAtMost),
		resumed: map[string]time.Time{}, rising: map[string]bool{}, waiters: map[*waiter]bool{},
	}
}

// Resume notes that Slurm wants nodes, and returns at once. It is no news of a
// node that was seen to power up already: its instance is on its way.
func (c *Controller) Resume(nodes []string) {
	now := time.Now()
	c.mu.Lock()
	for _, n := range nodes {
		if !c.rising[n] {
			c.resumed[n] = now
		}
	}
	c.mu.Unlock()
	c.Wake()
}

// Wake makes the next round begin now.
func (c *Controller) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run runs rounds until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	trouble := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
		case node := <-c.Fleet.Ended():
			c.ended(node)
		case <-timer.C:
		}
		acted, err := c.round(ctx)
		trouble = c.note(trouble, err)
		timer.Reset(c.pause(acted, err))
	}
}

func (c *Controller) pause(acted bool, err error) time.Duration {
	switch {
	case err != nil:
		return retryAfter
	case c.awaited():
		return eagerEvery
	case acted || c.mourning():
		return busyEvery
	}
	return quietEvery
}

// note logs a problem once, and its end.
func (c *Controller) note(before string, err error) string {
	now := ""
	if err != nil {
		now = err.Error()
	}
	switch {
	case now == before:
	case now != "":
		c.Log.Warn("round failed", "error", now)
	default:
		c.Log.Info("rounds succeed again")
	}
	return now
}

// round looks, decides and acts once.
func (c *Controller) round(ctx context.Context) (acted bool, err error) {
	before, began := c.observed, time.Now()
	w, err := c.look(ctx)
	if err != nil {
		return false, err
	}
	c.release(w.Nodes, began)
	c.lose(w, before)
	actions := fleet.Decide(w)
	for _, a := range actions {
		if err := c.act(ctx, a); err != nil {
			c.failed = a
			return true, fmt.Errorf("%s %s: %w", a.Deed, slurm.Compress(a.Nodes), err)
		}
	}
	c.failed = fleet.Action{}
	return len(actions) > 0, c.requeue(ctx)
}

// look sees the world. The provider is asked last: what Slurm says is then the
// older picture, and a node that it calls up and that has no instance has truly
// lost it, because instances are started here and nowhere else.
func (c *Controller) look(ctx context.Context) (fleet.World, error) {
	w := fleet.World{Limits: c.Limits}
	nodes, err := c.Slurm.Nodes(ctx)
	if err != nil {
		return w, fmt.Errorf("ask Slurm for its nodes: %w", err)
	}
	if len(nodes) == 0 {
		return w, errors.New("ask Slurm for its nodes: it names none")
	}
	for _, n := range nodes {
		w.Nodes = append(w.Nodes, nodeOf(n))
	}
	w.Resumed = c.seen(w.Nodes)
	now := time.Now()
	instances, err := c.Fleet.Observe(ctx)
	if err != nil {
		return w, fmt.Errorf("observe instances: %w", err)
	}
	c.observed, w.Now = now, time.Now()
	for _, i := range instances {
		w.Instances = append(w.Instances, fleet.Instance{Node: i.Node, Started: i.Started})
	}
	return w, nil
}

// seen takes note of what powers up and of what is off, and returns
// World.Resumed.
func (c *Controller) seen(nodes []fleet.Node) map[string]time.Time {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.rising)
	for _, n := range nodes {
		switch n.State {
		case fleet.PoweringUp:
			c.rising[n.Name] = true
		case fleet.PoweredDown, fleet.PoweringDown:
			c.resumed[n.Name] = now
		}
	}
	return maps.Clone(c.resumed)
}

// act does an action. One that is tried again is no news.
func (c *Controller) act(ctx context.Context, a fleet.Action) error {
	if a.Deed != c.failed.Deed || a.Reason != c.failed.Reason || !slices.Equal(a.Nodes, c.failed.Nodes) {
		c.Events.Add(Event{Kind: string(a.Deed), Nodes: a.Nodes, Reason: a.Reason})
	}
	switch a.Deed {
	case fleet.Terminate:
		return c.Fleet.Terminate(ctx, a.Nodes)
	case fleet.SetDown:
		return c.Slurm.UpdateNodes(ctx, a.Nodes, "DOWN", a.Reason)
	case fleet.PowerDown:
		return c.Slurm.UpdateNodes(ctx, a.Nodes, "POWER_DOWN", "")
	case fleet.PowerUp:
		return c.Slurm.UpdateNodes(ctx, a.Nodes, "POWER_UP", "")
	case fleet.Launch:
		return c.launch(ctx, a.Nodes)
	}
	return fmt.Errorf("no such deed: %q", a.Deed)
}

// launch starts instances. Nodes that got none are set down with the reason, so
// that Slurm can let their jobs go.
func (c *Controller) launch(ctx context.Context, nodes []string) error {
	var errs []error
	for node, err := range c.Fleet.Launch(ctx, []provider.Order{{Nodes: nodes}}, nil) {
		reason := fleet.ReasonLaunch + ": " + err.Error()
		c.Events.Add(Event{Kind: "launch failed", Nodes: []string{node}, Reason: err.Error()})
		errs = append(errs, c.Slurm.UpdateNodes(ctx, []string{node}, "DOWN", reason))
	}
	return errors.Join(errs...)
}
