package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/slurm"
)

// begin reads what outlives a controller.
func (c *Controller) begin() error {
	renewed, err := c.desired.open(c.Revision)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inbox.forgive = renewed
	return nil
}

// round looks, decides and acts once. Actions that are safe with the last known instances
// come first, so that a node's start and end need not wait for a look at all instances;
// the rest is decided after such a look.
func (c *Controller) round(ctx context.Context) (acted bool, err error) {
	before, began := c.observed, time.Now()
	if err := c.reap(ctx); err != nil {
		return true, err
	}
	nodes, err := c.nodes(ctx)
	if err != nil {
		return false, err
	}
	if err := c.introduce(ctx); err != nil {
		return false, err
	}
	c.release(nodes, began)
	w, err := c.world(ctx, nodes)
	if err != nil {
		return false, err
	}
	quick, all := c.atOnce(w)
	if err := c.do(ctx, w, quick); err != nil {
		return true, err
	}
	if !all || c.sure || time.Since(c.observed) >= c.Pace.Observe {
		if err := c.observe(ctx, &w); err != nil {
			return len(quick) > 0, err
		}
		c.lose(w, before)
		actions := fleet.Decide(w)
		if err := c.do(ctx, w, actions); err != nil {
			return true, err
		}
		acted = len(actions) > 0
	}
	return acted || len(quick) > 0, c.after(ctx, w)
}

// nodes asks Slurm for its nodes.
func (c *Controller) nodes(ctx context.Context) ([]fleet.Node, error) {
	list, err := c.Slurm.Nodes(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask Slurm for its nodes: %w", err)
	}
	if len(list) == 0 {
		return nil, errors.New("ask Slurm for its nodes: it names none")
	}
	c.noteDown(list)
	c.noteHands(list)
	nodes, stranded := make([]fleet.Node, len(list)), map[string]bool{}
	for i, n := range list {
		nodes[i] = nodeOf(n)
		stranded[n.Name] = isStranded(n.State)
	}
	strand(nodes, stranded, c.stranded, time.Now())
	return nodes, nil
}

// world is the present state, with the instances of the last look.
func (c *Controller) world(ctx context.Context, nodes []fleet.Node) (fleet.World, error) {
	c.mu.Lock()
	in := c.inbox
	c.inbox.resumed, c.inbox.bootFailed = nil, nil
	c.mu.Unlock()
	c.requested(in.resumed)
	c.seen(nodes)
	c.pauses.keep(c.rising)
	maps.Copy(c.bootFailed, in.bootFailed)
	if err := c.keepPartitions(ctx); err != nil {
		return fleet.World{}, err
	}
	if err := c.keepBlocks(ctx, nodes); err != nil {
		return fleet.World{}, err
	}
	now := time.Now()
	return fleet.World{
		Now: now, Nodes: nodes, Instances: c.registry.instances(), Resumed: c.resumed, InFlight: c.launching, Pause: c.pauses.until,
		BootFailed: c.bootFailed, Told: c.told, Halts: c.halts(now, nodes), Forgive: in.forgive, Limits: c.Limits,
	}, nil
}

// seen takes note of nodes that power up, that have come up, and that are off.
func (c *Controller) seen(nodes []fleet.Node) {
	now := time.Now()
	var rose []fleet.Node
	for _, n := range nodes {
		if n.State == fleet.Up && c.rising[n.Name] {
			rose = append(rose, n)
		}
	}
	c.tally.Count(rose, nil)
	clear(c.rising)
	for _, n := range nodes {
		if n.State != fleet.Down {
			delete(c.told, n.Name)
		}
		switch n.State {
		case fleet.PoweringUp:
			c.rising[n.Name] = true
		case fleet.PoweredDown, fleet.PoweringDown:
			c.resumed[n.Name] = now
		}
	}
	c.mu.Lock()
	c.awaitedBySlurm = maps.Clone(c.rising)
	c.mu.Unlock()
}

// observe lists the instances. The provider is asked after Slurm: then a node that is up
// in Slurm and has no instance has truly lost it, because only this controller starts
// instances.
func (c *Controller) observe(ctx context.Context, w *fleet.World) error {
	began := time.Now()
	instances, err := c.Fleet.Observe(ctx)
	if err != nil {
		return fmt.Errorf("observe instances: %w", err)
	}
	c.registry.observed(instances, began)
	c.observed, c.sure = began, false
	w.Now, w.Instances = time.Now(), c.registry.instances()
	c.forgetBoots(w.Instances)
	c.proven(ctx, w.Instances)
	return c.untilWhen(ctx, w)
}

// forgetBoots drops what was said of instances that are gone.
func (c *Controller) forgetBoots(instances []provider.Instance) {
	if len(c.bootFailed) == 0 {
		return
	}
	alive := map[string]bool{}
	for _, i := range instances {
		alive[i.ID] = true
	}
	maps.DeleteFunc(c.bootFailed, func(id, _ string) bool { return !alive[id] })
}

// atOnce is the part of a decision that is safe without a look at the instances: a launch
// leaves a living instance as it is, and a node that is off needs none. all says that
// there is no other part.
func (c *Controller) atOnce(w fleet.World) (quick []fleet.Action, all bool) {
	if c.sure {
		return nil, false
	}
	off, bare := map[string]bool{}, map[string]bool{}
	for _, n := range w.Nodes {
		off[n.Name] = n.State == fleet.PoweringDown || n.State == fleet.PoweredDown
		bare[n.Name] = true
	}
	for _, i := range w.Instances {
		delete(bare, i.Node)
	}
	all = true
	for _, a := range fleet.Decide(w) {
		sure := a
		sure.Nodes = nil
		for _, n := range a.Nodes {
			if a.Kind == fleet.Terminate && off[n] || a.Kind == fleet.Launch && bare[n] {
				sure.Nodes = append(sure.Nodes, n)
			}
		}
		if len(sure.Nodes) > 0 {
			quick = append(quick, sure)
		}
		all = all && len(sure.Nodes) == len(a.Nodes)
	}
	return quick, all
}

// do carries out a decision. If an instance cannot be ended now, the other actions go on;
// if Slurm cannot be told something, the rest waits.
func (c *Controller) do(ctx context.Context, w fleet.World, actions []fleet.Action) error {
	var errs []error
	for _, a := range actions {
		id := fmt.Sprint(a.Kind, a.Reason, a.Nodes)
		if !c.failed[id] { // a repetition is no event
			c.Events.Add(Event{Kind: string(a.Kind), Nodes: a.Nodes, Reason: a.Reason + c.proves(w, a)})
		}
		err := c.act(ctx, w, a)
		if err == nil {
			delete(c.failed, id)
			continue
		}
		c.failed[id] = true
		errs = append(errs, fmt.Errorf("%s %s: %w", a.Kind, slurm.Compress(a.Nodes), err))
		if a.Kind != fleet.Terminate {
			break
		}
	}
	return errors.Join(errs...)
}

// proves says of machines that are launched that they prove themselves first.
func (c *Controller) proves(w fleet.World, a fleet.Action) string {
	if a.Kind != fleet.Launch {
		return ""
	}
	for _, n := range pick(w.Nodes, a.Nodes) {
		if limit := c.Limits.BurnIn[n.Resource.Queue]; limit > 0 {
			return fmt.Sprintf("; it proves itself first, for up to %.0f min (BurnIn)", limit.Minutes())
		}
	}
	return ""
}

func (c *Controller) act(ctx context.Context, w fleet.World, a fleet.Action) error {
	switch a.Kind {
	case fleet.Terminate:
		c.keepConsole(ctx, w, a)
		if err := c.Fleet.Terminate(ctx, a.Nodes); err != nil {
			return err
		}
		c.registry.ended(a.Nodes)
		if a.Boot {
			c.tally.Count(nil, failed(pick(w.Nodes, a.Nodes), a.Reason))
		}
		return nil
	case fleet.Drain:
		return c.Slurm.UpdateNodes(ctx, a.Nodes, "DRAIN", a.Reason)
	case fleet.SetDown:
		return c.Slurm.UpdateNodes(ctx, a.Nodes, "DOWN", a.Reason)
	case fleet.PowerDown:
		return c.Slurm.UpdateNodes(ctx, a.Nodes, "POWER_DOWN", "")
	case fleet.PowerUp:
		return c.Slurm.UpdateNodes(ctx, a.Nodes, "POWER_UP", "")
	case fleet.Launch:
		return c.launch(ctx, pick(w.Nodes, a.Nodes))
	}
	return fmt.Errorf("no such action: %q", a.Kind)
}

// after does what follows from a round in which everything was done.
func (c *Controller) after(ctx context.Context, w fleet.World) error {
	clear(c.failed)
	if w.Forgive {
		clear(c.tally)
		c.mu.Lock()
		c.inbox.forgive = false
		c.mu.Unlock()
	}
	c.protect(w.Nodes)
	if err := c.correctAddresses(ctx, w); err != nil {
		return err
	}
	if c.Kept != nil && c.mourning() {
		c.Kept.Wake() // a job has just lost its node
	}
	return c.requeue(ctx)
}

// failed are nodes whose boots failed for the same reason.
func failed(nodes []fleet.Node, why string) []fleet.Failed {
	var all []fleet.Failed
	for _, n := range nodes {
		all = append(all, fleet.Failed{Node: n, Why: why})
	}
	return all
}

// pick are the nodes with the given names.
func pick(nodes []fleet.Node, names []string) []fleet.Node {
	wanted := setOf(names)
	return slices.DeleteFunc(slices.Clone(nodes), func(n fleet.Node) bool { return !wanted[n.Name] })
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return set
}
