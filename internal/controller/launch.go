package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/say/count"
)

// mover is a provider that can give instances to other nodes of the same compute
// resource. It moves all of them or none.
type mover interface {
	Move(ctx context.Context, moves map[string]string) error
}

// launchResult is how a launch went.
type launchResult struct {
	nodes []fleet.Node
	// lacking are the nodes that got no instance, and why.
	lacking map[string]error
	// givenBack are nodes whose instance was ended or given to another, with the job
	// that did not get all of its nodes.
	givenBack map[string]int
	// told says that its events were written.
	told bool
}

// launch begins to start instances, and does not wait for them: meanwhile other
// nodes may come and go.
func (c *Controller) launch(ctx context.Context, nodes []fleet.Node) error {
	pending := c.pendingFor(ctx, nodes)
	orders := fleet.Orders(c.Strategy, nodes, pending)
	for _, n := range nodes {
		c.launching[n.Name] = true
	}
	c.launches.Go(func() {
		l := c.carryOut(ctx, orders, pending)
		l.nodes = nodes
		c.mu.Lock()
		c.inbox.launched = append(c.inbox.launched, &l)
		c.mu.Unlock()
		c.Wake()
	})
	return nil
}

// carryOut has the provider carry out orders and settles what becomes of jobs that lack nodes.
func (c *Controller) carryOut(ctx context.Context, orders []provider.Order, pending []fleet.PendingJob) launchResult {
	l := launchResult{lacking: c.Fleet.Launch(ctx, orders, c.started)}
	lacks := func() map[string]bool { return setOf(slices.Collect(maps.Keys(l.lacking))) }
	s := fleet.Settle(c.Strategy, orders, pending, lacks())
	if len(s.Moves) > 0 && !c.move(ctx, s.Moves) {
		s = fleet.Settle(fleet.AllOrNothing, orders, pending, lacks())
	}
	for _, to := range s.Moves {
		delete(l.lacking, to)
	}
	l.givenBack = s.GiveBack
	var end []string
	for n := range s.GiveBack {
		if _, moved := s.Moves[n]; !moved {
			end = append(end, n)
		}
	}
	slices.Sort(end)
	if len(end) > 0 {
		if err := c.Fleet.Terminate(ctx, end); err != nil {
			c.Log.Warn("instances that no job can use were not ended; the next round tries again", "error", err)
		} else {
			c.registry.ended(end)
		}
	}
	return l
}

// move gives instances to other nodes, if the provider can and no machine knows
// its name yet.
func (c *Controller) move(ctx context.Context, moves map[string]string) bool {
	m, ok := c.Fleet.(mover)
	if !ok || !c.registry.move(moves) {
		return false
	}
	if err := m.Move(ctx, moves); err != nil {
		c.Log.Warn("instances were not given to other nodes", "error", err)
		back := map[string]string{}
		for from, to := range moves {
			back[to] = from
		}
		c.registry.move(back)
		return false
	}
	c.tellSlurm(c.registry.addresses(setOf(slices.Collect(maps.Values(moves)))))
	return true
}

// started takes in instances that have just appeared.
func (c *Controller) started(list []provider.Instance) {
	c.registry.started(list)
	addresses := map[string]string{}
	for _, i := range list {
		if i.Node != "" && i.Address.IsValid() {
			addresses[i.Node] = i.Address.String()
		}
	}
	c.tellSlurm(addresses)
}

// reap tells Slurm how launches went that are over. Nodes that got no instance
// are set down with the reason, so that Slurm can let their jobs go; those that
// were asked for too often are tried again. It comes before a look at Slurm, which
// then knows.
func (c *Controller) reap(ctx context.Context) error {
	for {
		c.mu.Lock()
		if len(c.inbox.launched) == 0 {
			c.mu.Unlock()
			return nil
		}
		l := c.inbox.launched[0]
		c.mu.Unlock()
		if err := c.settle(ctx, l); err != nil {
			return err
		}
		for _, n := range l.nodes {
			delete(c.launching, n.Name)
		}
		c.mu.Lock()
		c.inbox.launched = c.inbox.launched[1:]
		c.mu.Unlock()
	}
}

// settle tells Slurm of one launch.
func (c *Controller) settle(ctx context.Context, l *launchResult) error {
	down := map[string][]string{} // by reason
	var throttled, hopeless []string
	for node, err := range l.lacking {
		switch fleet.CauseOf(err) {
		case provider.Throttled:
			throttled = append(throttled, node)
			continue
		case provider.Configuration, provider.Permission:
			hopeless = append(hopeless, node)
		}
		reason := fleet.LaunchReason(err)
		down[reason] = append(down[reason], node)
	}
	for node, job := range l.givenBack {
		reason := fleet.ReasonIncomplete(job)
		down[reason] = append(down[reason], node)
	}
	if !l.told {
		c.tellFailures(l)
		c.pauses.add(time.Now(), pick(l.nodes, throttled))
		c.tally.Count(nil, failed(pick(l.nodes, hopeless), ""))
		l.told = true
	}
	for _, reason := range slices.Sorted(maps.Keys(down)) {
		slices.Sort(down[reason])
		if err := c.Slurm.UpdateNodes(ctx, down[reason], "DOWN", reason); err != nil {
			return fmt.Errorf("set down %s that could not be launched: %w", count.Of(len(down[reason]), "node"), err)
		}
		for _, n := range down[reason] {
			c.told[n] = fleet.Told{Reason: reason, At: time.Now()}
		}
	}
	return nil
}

// tellFailures writes the events of a launch that failed, one for each reason.
func (c *Controller) tellFailures(l *launchResult) {
	of := map[string][]string{}
	hints := map[string]string{}
	for node, err := range l.lacking {
		of[err.Error()] = append(of[err.Error()], node)
		hints[err.Error()] = fleet.Hint(fleet.CauseOf(err))
	}
	for _, reason := range slices.Sorted(maps.Keys(of)) {
		slices.Sort(of[reason])
		c.Events.Add(Event{Kind: "launch failed", Nodes: of[reason], Reason: reason, Hint: hints[reason]})
	}
	jobs := map[int][]string{}
	for node, job := range l.givenBack {
		jobs[job] = append(jobs[job], node)
	}
	for _, job := range slices.Sorted(maps.Keys(jobs)) {
		c.Events.Add(Event{Kind: "given back", Nodes: jobs[job], Reason: fmt.Sprintf("job %d did not get all of its nodes", job)})
	}
}
