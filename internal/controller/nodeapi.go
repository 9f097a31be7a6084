package controller

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/aws/join"
	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/provider"
)

// ServeNodes answers the cluster's machines until ctx ends: on the head node's
// private address, and only to those that prove by munge that they are root.
func (c *Controller) ServeNodes(ctx context.Context, l net.Listener, m join.Munge) error {
	return serve(ctx, l, machineServer(join.Handler(c, m)))
}

// ServeSecrets gives jobs their secrets until ctx ends.
func ServeSecrets(ctx context.Context, l net.Listener, give join.Giver, m join.Munge) error {
	return serve(ctx, l, machineServer(join.SecretsHandler(give, m)))
}

// ServeKeys gives the cluster's munge key to its machines until ctx ends. k.Member
// knows those that the controller does not start: login nodes.
func (c *Controller) ServeKeys(ctx context.Context, l net.Listener, k join.Keys) error {
	others := k.Member
	k.Member = func(ctx context.Context, address netip.Addr) (bool, error) {
		if c.registry.has(address) {
			return true, nil
		}
		return others(ctx, address)
	}
	return serve(ctx, l, machineServer(join.KeyHandler(k)))
}

// machineServer answers machines. None of them can hold a connection open for long.
func machineServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 20 * time.Second, WriteTimeout: time.Minute, IdleTimeout: time.Minute,
		MaxHeaderBytes: 64 << 10,
	}
}

// Join tells a machine which node it is, once that is known.
func (c *Controller) Join(_ context.Context, h join.Hello) (join.Place, error) {
	node, known := c.registry.join(h.InstanceID)
	if !known {
		return join.Place{}, join.ErrNotYet
	}
	return join.Place{Node: node, Head: c.Head, Cluster: c.Cluster, Revision: c.Revision}, nil
}

// Ready takes note that a machine's slurmd runs. One that says so again is told to
// register if Slurm still waits for it.
func (c *Controller) Ready(_ context.Context, r join.Ready) (join.ReadyAnswer, error) {
	if !r.Again {
		c.Log.Info("node booted", "node", r.Node, "instance", r.InstanceID, "seconds", r.Seconds, "blind", r.Blind)
		c.tellBurnIn(r.Node, r.InstanceID, r.BurnIn)
		c.tellBlind(r)
		c.Wake()
		return join.ReadyAnswer{}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return join.ReadyAnswer{Register: c.awaitedBySlurm[r.Node]}, nil
}

// tellBurnIn says what a machine proved before it became a node.
func (c *Controller) tellBurnIn(node, instance, said string) {
	if said != "" {
		c.Events.Add(Event{Kind: "burn-in", Nodes: []string{node}, Instance: instance, Reason: said})
	}
}

// proven hears of burn-ins from the place itself, where machines have no other way to tell. It is part of a round.
func (c *Controller) proven(ctx context.Context, instances []provider.Instance) {
	var told map[string]time.Time // by an earlier controller
	before := c.heard
	if proves := func(i provider.Instance) bool { return i.Proof != nil }; before == nil && slices.ContainsFunc(instances, proves) {
		told = c.Events.last("burn-in")
	}
	c.heard = map[string]bool{}
	for _, i := range instances {
		if i.Proof == nil {
			continue
		}
		unfit := i.Proof.Unfit != ""
		if unfit && !c.rising[i.Node] && !before[i.ID] {
			continue // a node in service was fit once: nobody but root on it says otherwise
		}
		c.heard[i.ID] = true
		if before[i.ID] || !unfit && told[i.ID].After(i.Started) {
			continue
		}
		if unfit {
			_ = c.Failed(ctx, join.Failure{InstanceID: i.ID, Node: i.Node, Step: join.BurnInStep, Error: i.Proof.Unfit, LogTail: i.Proof.Evidence, Report: i.Proof.Report}) // it always takes note
			continue
		}
		c.tellBurnIn(i.Node, i.ID, i.Proof.Said)
		c.tellBlind(join.Ready{InstanceID: i.ID, Node: i.Node, Blind: i.Proof.Blind})
	}
}

// tellBlind says what a machine could not look at, once for all that say the same.
func (c *Controller) tellBlind(r join.Ready) {
	c.mu.Lock()
	told := r.Blind == "" || c.blind[r.Blind]
	c.blind[r.Blind] = true
	c.mu.Unlock()
	if !told {
		c.Events.Add(Event{Kind: "blind", Nodes: []string{r.Node}, Instance: r.InstanceID, Reason: r.Blind})
	}
}

// Failed takes note that a machine will never be ready.
func (c *Controller) Failed(_ context.Context, f join.Failure) error {
	node := c.registry.node(f.InstanceID)
	what := f.Error
	if !strings.HasPrefix(what, f.Step+": ") {
		what = f.Step + ": " + what
	}
	e := Event{Kind: "boot failed", Reason: what, Instance: f.InstanceID, Log: lastLines(f.LogTail)}
	if node != "" {
		e.Nodes = []string{node}
	}
	e.Report = c.keepReport(node, f.Report)
	c.Events.Add(e)
	c.mu.Lock()
	if c.inbox.bootFailed == nil {
		c.inbox.bootFailed = map[string]string{}
	}
	c.inbox.bootFailed[f.InstanceID] = "its boot failed at " + what
	c.lastWords[node] = lastWords{at: time.Now(), text: what}
	c.mu.Unlock()
	c.Wake()
	return nil
}

// mostLines is how many lines of a log an event keeps.
const mostLines = 20

func lastLines(log []string) []string { return log[max(0, len(log)-mostLines):] }

// lastWords are why a node's last boot failed.
type lastWords struct {
	at   time.Time
	text string
}

// lastFailure is why the last boot of a queue's nodes failed, as far as a machine said so.
func (c *Controller) lastFailure(queue string, nodes []fleet.Node) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var last lastWords
	for _, n := range nodes {
		if w := c.lastWords[n.Name]; n.Resource.Queue == queue && w.at.After(last.at) {
			last = w
		}
	}
	return last.text
}
