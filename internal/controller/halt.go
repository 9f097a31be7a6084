package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/slurm"
)

// inactive is the state of a partition whose jobs wait, and that takes no new ones.
const inactive = "INACTIVE"

// Start lets the fleet run, and gives another try to what had failed for good.
func (c *Controller) Start() error {
	err := c.desired.change(func(s *DesiredState) { s.Stopped, s.Protected = nil, nil })
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.inbox.forgive = true
	c.mu.Unlock()
	c.Events.Add(Event{Kind: "fleet started"})
	c.Wake()
	return nil
}

// Stop lets no job start and ends all instances: now, or as their jobs end.
func (c *Controller) Stop(now bool) error {
	err := c.desired.change(func(s *DesiredState) { s.Stopped = &Stopped{Since: time.Now(), Now: now} })
	if err != nil {
		return err
	}
	reason := "instances end as their jobs do"
	if now {
		reason = "instances end now, and their jobs wait"
	}
	c.Events.Add(Event{Kind: "fleet stopped", Reason: reason})
	c.Wake()
	return nil
}

// protect keeps queues from starting nodes that fail to boot again and again.
func (c *Controller) protect(nodes []fleet.Node) {
	c.mu.Lock()
	forgiven := c.inbox.forgive
	c.mu.Unlock()
	if forgiven {
		return // what was counted is about to be forgotten
	}
	known := c.desired.get().Protected
	for queue, why := range c.tally.Protect(nodes, c.Limits) {
		if _, already := known[queue]; already {
			continue
		}
		if last := c.lastFailure(queue, nodes); last != "" {
			why += ", the last at " + last
		}
		err := c.desired.change(func(s *DesiredState) {
			if s.Protected == nil {
				s.Protected = map[string]Protected{}
			}
			s.Protected[queue] = Protected{Since: time.Now(), Why: why}
		})
		if err != nil {
			c.Log.Warn("queue not protected", "queue", queue, "error", err)
			continue
		}
		c.Events.Add(Event{Kind: "queue protected", Reason: queue + ": " + why, Hint: protectedHint})
		c.Wake()
	}
}

const protectedHint = "mend the cause and run `muster fleet start`, or change the cluster with `muster up`"

// halts are the compute resources that start nothing now.
func (c *Controller) halts(now time.Time, nodes []fleet.Node) map[slurm.Resource]fleet.Halt {
	s := c.desired.get()
	halts := fleet.BlockHalts(now, c.blocks.list)
	if s.Stopped == nil && len(s.Protected) == 0 {
		return halts
	}
	stopped := fleet.Halt{Reason: "the fleet is stopped", Ending: fleet.WhenIdle}
	if s.Stopped != nil && s.Stopped.Now {
		stopped.Ending = fleet.AtOnce
	}
	for _, n := range nodes {
		p, protected := s.Protected[n.Resource.Queue]
		switch {
		case s.Stopped != nil:
			halts[n.Resource] = stopped
		case protected && halts[n.Resource].Ending == fleet.Stay:
			halts[n.Resource] = fleet.Halt{Reason: "queue " + n.Resource.Queue + " is protected: " + p.Why}
		}
	}
	return halts
}

// keepPartitions makes partitions inactive where nothing may start, and active
// again.
func (c *Controller) keepPartitions(ctx context.Context) error {
	s := c.desired.get()
	if s.Stopped == nil && len(s.Protected)+len(s.Closed) == 0 {
		return nil
	}
	partitions, err := c.Partitions.Partitions(ctx)
	if err != nil {
		return fmt.Errorf("ask Slurm for its partitions: %w", err)
	}
	states := map[string]string{}
	for _, p := range partitions {
		states[p.Name] = p.State
	}
	for _, name := range slices.Sorted(maps.Keys(states)) {
		_, protected := s.Protected[name]
		before, ours := s.Closed[name]
		switch {
		case s.Stopped != nil || protected:
			err = c.closePartition(ctx, name, states[name], ours)
		case ours:
			err = c.openPartition(ctx, name, states[name], before)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *Controller) closePartition(ctx context.Context, name, state string, ours bool) error {
	if state == inactive {
		return nil
	}
	if !ours {
		err := c.desired.change(func(s *DesiredState) {
			if s.Closed == nil {
				s.Closed = map[string]string{}
			}
			s.Closed[name] = state
		})
		if err != nil {
			return err
		}
	}
	if err := c.Partitions.SetPartition(ctx, name, inactive); err != nil {
		return fmt.Errorf("make partition %s inactive: %w", name, err)
	}
	return nil
}

func (c *Controller) openPartition(ctx context.Context, name, state, before string) error {
	if state == inactive {
		if err := c.Partitions.SetPartition(ctx, name, before); err != nil {
			return fmt.Errorf("make partition %s active again: %w", name, err)
		}
	}
	return c.desired.change(func(s *DesiredState) { delete(s.Closed, name) })
}
