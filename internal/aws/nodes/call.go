package nodes

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/muster-hpc/muster/internal/aws/nodes/ec2xml"
	"github.com/muster-hpc/muster/internal/aws/nodes/journal"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// carryOut launches a batch. An error is that no node of it has an instance; nodes that
// EC2 left out fail alone.
func (l *launching) carryOut(ctx context.Context, b batch) error {
	served, err := l.begin(ctx, b)
	if err != nil {
		return err
	}
	for node, err := range l.names.wait(ctx, served) {
		l.fail(fmt.Errorf("give %s its name: %w", node, err), node)
	}
	return nil
}

// begin writes a launch down and makes the call.
func (l *launching) begin(ctx context.Context, b batch) (served []string, err error) {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	i, r, err := l.intend(b)
	if err != nil {
		return nil, err
	}
	i.busy <- struct{}{}
	defer func() { <-i.busy }()
	got, err := l.call(ctx, i, r, l.started)
	if err != nil {
		return nil, err
	}
	for _, n := range i.Nodes[len(got.nodes):] {
		l.fail(got.short, n)
	}
	return got.nodes, nil
}

// intend writes a launch down before it begins.
func (f *Fleet) intend(b batch) (*intent, request, error) {
	token := "muster-" + rand.Text()
	// The tags say the nodes in this order.
	nodes, err := slurm.Expand(slurm.Compress(b.nodes))
	if err != nil {
		return nil, request{}, err
	}
	r, err := newRequest(f.Cluster, token, b)
	if err != nil {
		return nil, request{}, err
	}
	text, err := r.encode()
	if err != nil {
		return nil, request{}, err
	}
	i := newIntent(journal.Launch{Token: token, At: f.Now(), Nodes: nodes, Request: text})
	if err := f.book.Begin(i.Launch); err != nil {
		return nil, request{}, err
	}
	f.mu.Lock()
	f.open[token] = i
	f.mu.Unlock()
	return i, r, nil
}

// gain is what a call gave: instances for the first nodes of its list.
type gain struct {
	nodes []string
	// short says why there are no more.
	short error
}

// call asks EC2 for the instances of an intent, for the first time or once more. The
// intent is open until there is an answer.
func (f *Fleet) call(ctx context.Context, i *intent, r request, started func([]provider.Instance)) (gain, error) {
	if err := f.gate.wait(ctx); err != nil {
		return gain{}, err
	}
	out, err := f.send(ctx, i.Token, r)
	if err != nil {
		refused, definite := refusal(err)
		if definite {
			f.forget(i.Token)
		}
		f.Log.Info("launch refused", "nodes", slurm.Compress(i.Nodes), "code", refused.Code, "error", refused.Message, "settled", definite)
		return gain{}, refused
	}
	instances := f.answered(i, r, out.instances)
	if r.Whole && len(out.instances) < int(r.Count) {
		return gain{}, f.half(ctx, out, int(r.Count))
	}
	started(instances)
	if r.Fleet != nil {
		f.awaitAddresses(ctx, out.instances, started)
	}
	got := gain{nodes: i.Nodes[:min(len(out.instances), len(i.Nodes))], short: short(len(out.instances), int(r.Count))}
	if out.short != nil {
		got.short = out.short
	}
	if len(out.instances) == 0 {
		return got, got.short
	}
	return got, nil
}

// half ends what came of a launch that should have come whole. EC2 promises that it
// does not happen.
func (f *Fleet) half(ctx context.Context, out launched, asked int) error {
	var ids []string
	for _, i := range out.instances {
		ids = append(ids, i.ID)
	}
	if err := f.end(context.WithoutCancel(ctx), ids); err != nil {
		return fmt.Errorf("end %d of %s that came without the others: %w", len(ids), count.Of(asked, "instance"), err)
	}
	if out.short != nil {
		return out.short
	}
	return short(len(ids), asked)
}

// answered notes what a launch gave, in memory and in the journal.
func (f *Fleet) answered(i *intent, r request, found []ec2xml.Instance) []provider.Instance {
	now := f.Now()
	l := i.Launch
	l.Answered = true
	var all []provider.Instance
	f.mu.Lock()
	delete(f.open, i.Token)
	f.answers[i.Token] = answer{at: now, fleet: r.Fleet != nil}
	for _, e := range found {
		m := f.learn(e, now)
		if m == nil {
			continue
		}
		if m.Node == "" && 0 <= e.Index && e.Index < len(i.Nodes) {
			m.Node = i.Nodes[e.Index]
		}
		m.launch = i.Token
		f.add(m)
		f.names.want(m.Node, m.Address)
		l.Instances = append(l.Instances, journal.Instance{Node: m.Node, ID: m.ID, Started: m.Started, Address: m.Address})
		all = append(all, m.Instance)
	}
	f.mu.Unlock()
	if err := f.book.Answer(l); err != nil {
		// The instances' tags have it all; after a crash EC2 is asked once more.
		f.Log.Warn("the journal of launches cannot be written", "error", err)
	}
	return all
}

// learn makes a machine of what EC2 says, or brings the one that we know up to date.
// It is nil for one that has ended. The caller holds mu.
func (f *Fleet) learn(e ec2xml.Instance, now time.Time) *machine {
	if !lives(e.State) {
		return nil
	}
	if _, over := f.over[e.ID]; over {
		return nil
	}
	m := f.machines[e.ID]
	if m == nil {
		m = &machine{Instance: provider.Instance{ID: e.ID, Started: now}, learned: now}
	}
	if !e.Launched.IsZero() {
		m.Started = e.Launched
	}
	if e.Address.IsValid() {
		m.Address = e.Address
	}
	return m
}

func lives(state string) bool { return state == "pending" || state == "running" }

// awaitAddresses waits until EC2 shows the addresses of instances whose launch did
// not tell them. What it does not show in time, Observe will find.
func (f *Fleet) awaitAddresses(ctx context.Context, launched []ec2xml.Instance, started func([]provider.Instance)) {
	missing := map[string]bool{}
	for _, i := range launched {
		missing[i.ID] = true
	}
	for attempt := 1; len(missing) > 0 && attempt <= f.Limits.Attempts; attempt++ {
		found, err := f.describeIDs(ctx, sortedKeys(missing))
		if err != nil {
			f.Log.Warn("the addresses of a fleet cannot be seen yet", "error", err)
			return
		}
		var shown []provider.Instance
		f.mu.Lock()
		for _, e := range found {
			if m := f.learn(e, f.Now()); m != nil && m.Address.IsValid() {
				shown = append(shown, m.Instance)
				f.names.want(m.Node, m.Address)
				delete(missing, e.ID)
			} else if !lives(e.State) {
				delete(missing, e.ID)
			}
		}
		f.mu.Unlock()
		if len(shown) > 0 {
			started(shown)
		}
		if len(missing) > 0 && pause.For(ctx, f.Limits.pause(attempt)) != nil {
			return
		}
	}
}

// reserved tells whether an order that is too large for one call can be launched in
// several: only if its reservation has room for all of it. Otherwise a part may
// come that would have to be ended.
func (f *Fleet) reserved(ctx context.Context, r *Resource, nodes int) error {
	if r.Reservation == "" {
		return configuration(fmt.Errorf("%d nodes cannot be launched all or nothing: one call of EC2 starts at most %d, and %s has no capacity reservation", nodes, f.Limits.Batch, r))
	}
	out, err := f.clients.ec2.DescribeCapacityReservations(ctx, &ec2.DescribeCapacityReservationsInput{CapacityReservationIds: []string{r.Reservation}})
	if err != nil {
		refused, _ := refusal(err)
		return refused
	}
	free := 0
	for _, c := range out.CapacityReservations {
		if c.AvailableInstanceCount != nil {
			free += int(*c.AvailableInstanceCount)
		}
	}
	if free < nodes {
		return &provider.LaunchError{Cause: provider.Capacity, Code: limited, Message: fmt.Sprintf("reservation %s has room for %d of %d instances", r.Reservation, free, nodes)}
	}
	return nil
}
