package nodes

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/route53"
	"github.com/aws/aws-sdk-go-v2/service/route53/types"
)

const (
	// Route 53 counts an upsert twice, and takes a thousand changes at once.
	changesAtOnce = 500
	// nameSeconds is how long a resolver may keep an address: less than an instance
	// takes to boot.
	nameSeconds = 60
)

// names keeps the nodes' addresses in a zone of Route 53. Route 53 takes five calls
// in a second and changes of a zone one after the other: all that is wanted while
// a call is under way goes into the next.
type names struct {
	dns        *route53.Client
	zone, tail string
	log        *slog.Logger
	// rest is how long a change that failed is not tried again.
	rest   time.Duration
	wake   chan struct{}
	stop   context.CancelFunc
	worker sync.WaitGroup

	mu sync.Mutex // guards what follows
	// wanted and unwanted are changes to be made, underWay those that are being made.
	wanted, unwanted, underWay map[string]netip.Addr
	// removing says that underWay is being removed.
	removing bool
	// have is what the zone has, failed why a change was not made.
	have   map[string]netip.Addr
	failed map[string]failure
	// trouble is why the last change was not made.
	trouble string
	// changed is closed when something happened.
	changed chan struct{}
}

// failure is a change that was not made.
type failure struct {
	address netip.Addr
	at      time.Time
	err     error
}

func newNames(ctx context.Context, c clients, f Config) *names {
	n := &names{
		dns: c.dns, zone: f.Zone, tail: "." + strings.TrimSuffix(f.ZoneName, "."), log: f.Log, wake: make(chan struct{}, 1),
		wanted: map[string]netip.Addr{}, unwanted: map[string]netip.Addr{}, underWay: map[string]netip.Addr{},
		have: map[string]netip.Addr{}, failed: map[string]failure{}, rest: f.Limits.PauseMost, changed: make(chan struct{}),
	}
	ctx, n.stop = context.WithCancel(ctx)
	n.worker.Go(func() { n.work(ctx) })
	return n
}

// close stops making changes. Those that wait are made after the next start.
func (n *names) close() {
	n.stop()
	n.worker.Wait()
}

// want asks for a node's address in the zone. It does not wait.
func (n *names) want(node string, a netip.Addr) {
	if n.zone == "" || node == "" || !a.IsValid() {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.unwanted, node)
	coming, underWay := n.underWay[node]
	if !underWay {
		coming = n.have[node]
	}
	if coming == a && !(underWay && n.removing) {
		delete(n.wanted, node) // it is there, or on its way
		return
	}
	if was, failed := n.failed[node]; failed && was.address == a && time.Since(was.at) < n.rest {
		return
	}
	n.wanted[node] = a
	delete(n.failed, node)
	n.awake()
}

// forget asks that a node's address be removed. It does not wait.
func (n *names) forget(node string, a netip.Addr) {
	if n.zone == "" || node == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.wanted, node)
	if had, ok := n.have[node]; ok {
		a = had
	}
	if a.IsValid() {
		n.unwanted[node] = a
		n.awake()
	}
}

func (n *names) awake() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// wait waits until the zone has the nodes, and tells of which it has not.
func (n *names) wait(ctx context.Context, nodes []string) map[string]error {
	for {
		n.mu.Lock()
		failed, busy, changed := map[string]error{}, false, n.changed
		for _, node := range nodes {
			_, wanted := n.wanted[node]
			_, underWay := n.underWay[node]
			busy = busy || wanted || underWay
			if was, ok := n.failed[node]; ok {
				failed[node] = was.err
			}
		}
		n.mu.Unlock()
		if !busy {
			return failed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return failed // the names follow
		}
	}
}

func (n *names) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
		}
		for ctx.Err() == nil && (n.step(ctx, types.ChangeActionUpsert) || n.step(ctx, types.ChangeActionDelete)) {
		}
	}
}

// step makes the next changes of a kind, and tells whether there were some.
func (n *names) step(ctx context.Context, action types.ChangeAction) bool {
	from := n.wanted
	if action == types.ChangeActionDelete {
		from = n.unwanted
	}
	n.mu.Lock()
	n.removing = action == types.ChangeActionDelete
	for node, a := range from {
		if len(n.underWay) < changesAtOnce {
			n.underWay[node] = a
			delete(from, node)
		}
	}
	nodes := sortedKeys(n.underWay)
	n.mu.Unlock()
	if len(nodes) == 0 {
		return false
	}
	var err error
	if action == types.ChangeActionDelete {
		n.remove(ctx, nodes)
	} else {
		err = n.change(ctx, action, nodes)
	}
	n.made(action, nodes, err)
	return true
}

func (n *names) made(action types.ChangeAction, nodes []string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, node := range nodes {
		switch {
		case action == types.ChangeActionDelete:
			delete(n.have, node)
		case err != nil:
			n.failed[node] = failure{n.underWay[node], time.Now(), err} // wanted again by a later look
		default:
			n.have[node] = n.underWay[node]
		}
	}
	trouble := ""
	if err != nil {
		trouble = err.Error()
	}
	if trouble != "" && trouble != n.trouble {
		n.log.Warn("the nodes' names cannot be written", "zone", n.zone, "nodes", len(nodes), "error", err)
	}
	n.trouble = trouble
	clear(n.underWay)
	close(n.changed)
	n.changed = make(chan struct{})
}

// remove removes records. Route 53 refuses all of them if one is not as we think:
// then it is found, and stays until it is made anew or the zone is removed.
func (n *names) remove(ctx context.Context, nodes []string) {
	err := n.change(ctx, types.ChangeActionDelete, nodes)
	var invalid *types.InvalidChangeBatch
	switch {
	case err == nil:
	case errors.As(err, &invalid) && len(nodes) > 1:
		half := len(nodes) / 2
		n.remove(ctx, nodes[:half])
		n.remove(ctx, nodes[half:])
	default:
		n.log.Info("records of ended nodes stay in the zone", "nodes", len(nodes), "first", nodes[0], "error", err)
	}
}

// change makes changes that are under way.
func (n *names) change(ctx context.Context, action types.ChangeAction, nodes []string) error {
	batch := &types.ChangeBatch{}
	for _, node := range nodes {
		batch.Changes = append(batch.Changes, types.Change{Action: action, ResourceRecordSet: &types.ResourceRecordSet{
			Name: aws.String(node + n.tail), Type: types.RRTypeA, TTL: aws.Int64(nameSeconds),
			ResourceRecords: []types.ResourceRecord{{Value: aws.String(n.underWay[node].String())}},
		}})
	}
	_, err := n.dns.ChangeResourceRecordSets(ctx, &route53.ChangeResourceRecordSetsInput{HostedZoneId: aws.String(n.zone), ChangeBatch: batch})
	return err
}
