package providertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// Fake is a place in memory. Its clock is time.Now, so it keeps to a test's
// bubble of time. New makes one.
type Fake struct {
	place *place
	ended chan string
}

// place outlives the Fakes that use it.
type place struct {
	mu        sync.Mutex // guards what follows
	nodes     map[string]bool
	instances map[string]provider.Instance
	started   int
	looks     int
	failing   map[string]error
	room      map[string]int // by the nodes' name without number
	takes     time.Duration
	addressed bool
	silent    error
	hearers   []chan string
}

// locked locks the place until the returned function is called.
func (p *place) locked() (unlock func()) {
	p.mu.Lock()
	return p.mu.Unlock
}

var _ provider.Provider = (*Fake)(nil)

// ErrUnknown is a node that the place has no room for.
var ErrUnknown = errors.New("no such node")

// New returns a place with room for nodes and no instance.
func New(nodes ...string) *Fake {
	f := &Fake{place: &place{nodes: map[string]bool{}, instances: map[string]provider.Instance{}, failing: map[string]error{}, room: map[string]int{}}}
	for _, n := range nodes {
		f.place.nodes[n] = true
	}
	return f.Again()
}

// Again is another user of the same place, as after a crash of the first.
func (f *Fake) Again() *Fake {
	again := &Fake{place: f.place, ended: make(chan string, 1024)}
	defer f.place.locked()()
	f.place.hearers = append(f.place.hearers, again.ended)
	return again
}

// Observe implements provider.Provider.
func (f *Fake) Observe(ctx context.Context) ([]provider.Instance, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	defer f.place.locked()()
	f.place.looks++
	if f.place.silent != nil {
		return nil, f.place.silent
	}
	return slices.SortedStableFunc(maps.Values(f.place.instances), func(a, b provider.Instance) int { return strings.Compare(a.Node, b.Node) }), nil
}

// Launch implements provider.Provider.
func (f *Fake) Launch(ctx context.Context, orders []provider.Order, started func([]provider.Instance)) map[string]error {
	if err := f.wait(ctx); err != nil {
		return provider.AllFail(orders, err)
	}
	failed := map[string]error{}
	for _, o := range orders {
		f.place.mu.Lock()
		list, refused := f.place.order(ctx, o)
		f.place.mu.Unlock()
		maps.Copy(failed, refused)
		if started != nil && len(list) > 0 {
			started(list)
		}
	}
	return failed
}

// wait is as long as a launch takes here.
func (f *Fake) wait(ctx context.Context) error {
	f.place.mu.Lock()
	takes := f.place.takes
	f.place.mu.Unlock()
	return pause.For(ctx, takes)
}

// order carries out one order.
func (p *place) order(ctx context.Context, o provider.Order) (list []provider.Instance, failed map[string]error) {
	failed = map[string]error{}
	if o.Whole {
		if err := p.refusal(ctx, o.Nodes...); err != nil {
			return nil, provider.AllFail([]provider.Order{o}, err)
		}
	}
	for _, n := range o.Nodes {
		if err := p.refusal(ctx, n); err != nil {
			failed[n] = err
			continue
		}
		list = append(list, p.launch(n))
	}
	return list, failed
}

// refusal is why the nodes cannot all have an instance, nil if they can.
func (p *place) refusal(ctx context.Context, nodes ...string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	more := map[string]int{}
	for _, n := range nodes {
		if _, alive := p.instances[n]; alive {
			continue
		}
		if err := p.failing[n]; err != nil {
			return err
		}
		if !p.nodes[n] {
			return fmt.Errorf("launch %s: %w", n, ErrUnknown)
		}
		more[group(n)]++
	}
	for g, n := range more {
		most, limited := p.room[g]
		if limited && p.living(g)+n > most {
			return &provider.LaunchError{Cause: provider.Capacity, Code: "InsufficientInstanceCapacity", Message: "there is no more of this here"}
		}
	}
	return nil
}

// group is a node's name without its number.
func group(node string) string { return strings.TrimRight(node, "0123456789") }

func (p *place) living(g string) (n int) {
	for node := range p.instances {
		if group(node) == g {
			n++
		}
	}
	return n
}

// launch gives a node an instance, if it has none.
func (p *place) launch(node string) provider.Instance {
	if i, alive := p.instances[node]; alive {
		return i
	}
	p.started++
	i := provider.Instance{Node: node, ID: fmt.Sprintf("i-%d", p.started), Started: time.Now()}
	if p.addressed {
		i.Address = netip.AddrFrom4([4]byte{127, 1, byte(p.started >> 8), byte(p.started)})
	}
	p.instances[node] = i
	return i
}

// Move gives instances to other nodes, all or none.
func (f *Fake) Move(ctx context.Context, moves map[string]string) error {
	defer f.place.locked()()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for from, to := range moves {
		_, has := f.place.instances[from]
		if _, taken := f.place.instances[to]; !has || taken || group(from) != group(to) {
			return fmt.Errorf("give the instance of %s to %s: it has none, or may not have it", from, to)
		}
	}
	for from, to := range moves {
		i := f.place.instances[from]
		delete(f.place.instances, from)
		i.Node = to
		f.place.instances[to] = i
	}
	return nil
}

// Terminate implements provider.Provider.
func (f *Fake) Terminate(ctx context.Context, nodes []string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	defer f.place.locked()()
	for _, n := range nodes {
		delete(f.place.instances, n)
		maps.DeleteFunc(f.place.instances, func(_ string, i provider.Instance) bool { return i.ID == n })
	}
	return nil
}

// Ended implements provider.Provider.
func (f *Fake) Ended() <-chan string { return f.ended }

// Kill ends a node's instance as a power cut does, and tells whether there was one.
func (f *Fake) Kill(node string) bool {
	defer f.place.locked()()
	_, alive := f.place.instances[node]
	delete(f.place.instances, node)
	if !alive {
		return false
	}
	for _, h := range f.place.hearers {
		select {
		case h <- node:
		default:
		}
	}
	return true
}

// KillUnheard is Kill with every message lost.
func (f *Fake) KillUnheard(node string) {
	defer f.place.locked()()
	delete(f.place.instances, node)
}

// Fail lets launches of a node fail from now on; nil ends that.
func (f *Fake) Fail(node string, err error) {
	defer f.place.locked()()
	f.place.failing[node] = err
}

// Room lets a group of nodes, named without their number, have so many instances
// from now on, and no more.
func (f *Fake) Room(group string, instances int) {
	defer f.place.locked()()
	f.place.room[group] = instances
}

// Takes lets each launch take so long from now on.
func (f *Fake) Takes(d time.Duration) {
	defer f.place.locked()()
	f.place.takes = d
}

// Addressed lets instances have addresses from now on.
func (f *Fake) Addressed() {
	defer f.place.locked()()
	f.place.addressed = true
}

// SetHealth says something against a node's instance; nothing ends that.
func (f *Fake) SetHealth(node string, events ...provider.HealthEvent) {
	defer f.place.locked()()
	if i, alive := f.place.instances[node]; alive {
		i.Health = events
		f.place.instances[node] = i
	}
}

// Orphan is an instance that no node is known for.
func (f *Fake) Orphan() (id string) {
	defer f.place.locked()()
	i := f.place.launch("orphan-0")
	i.Node = ""
	delete(f.place.instances, "orphan-0")
	f.place.instances["\x00"+i.ID] = i
	return i.ID
}

// Silence lets Observe fail from now on; nil ends that.
func (f *Fake) Silence(err error) {
	defer f.place.locked()()
	f.place.silent = err
}

// Started counts the instances that were ever started.
func (f *Fake) Started() int {
	defer f.place.locked()()
	return f.place.started
}

// Looks counts the calls of Observe.
func (f *Fake) Looks() int {
	defer f.place.locked()()
	return f.place.looks
}

// Living counts the instances that live.
func (f *Fake) Living() int {
	defer f.place.locked()()
	return len(f.place.instances)
}
