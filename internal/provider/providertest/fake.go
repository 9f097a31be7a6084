package providertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/provider"
)

// Fake is a place in memory. Its clock is time.Now, so it keeps to a test's
// bubble of time. New makes one.
type Fake struct {
	place *place
	ended chan string
}

// place is what outlives whoever starts and ends instances.
type place struct {
	mu        sync.Mutex // guards what follows
	nodes     map[string]bool
	instances map[string]provider.Instance
	started   int
	failing   map[string]error
	silent    error
	hearers   []chan string
}

var _ provider.Provider = (*Fake)(nil)

// ErrUnknown is a node that the place has no room for.
var ErrUnknown = errors.New("no such node")

// New returns a place with room for nodes and no instance.
func New(nodes ...string) *Fake {
	f := &Fake{place: &place{nodes: map[string]bool{}, instances: map[string]provider.Instance{}, failing: map[string]error{}}}
	for _, n := range nodes {
		f.place.nodes[n] = true
	}
	return f.Again()
}

// Again is another user of the same place, as after a crash of the first.
func (f *Fake) Again() *Fake {
	again := &Fake{place: f.place, ended: make(chan string, 1024)}
	f.place.mu.Lock()
	defer f.place.mu.Unlock()
	f.place.hearers = append(f.place.hearers, again.ended)
	return again
}

// Observe implements provider.Provider.
func (f *Fake) Observe(ctx context.Context) ([]provider.Instance, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	f.place.mu.Lock()
	defer f.place.mu.Unlock()
	if f.place.silent != nil {
		return nil, f.place.silent
	}
	return slices.SortedFunc(maps.Values(f.place.instances), func(a, b provider.Instance) int { return strings.Compare(a.Node, b.Node) }), nil
}

// Launch implements provider.Provider.
func (f *Fake) Launch(ctx context.Context, orders []provider.Order, started func([]provider.Instance)) map[string]error {
	failed := map[string]error{}
	var nodes []string
	for _, o := range orders {
		nodes = append(nodes, o.Nodes...)
	}
	f.place.mu.Lock()
	defer f.place.mu.Unlock()
	for _, n := range nodes {
		if err := f.place.launch(ctx, n); err != nil {
			failed[n] = err
			continue
		}
		if started != nil {
			started([]provider.Instance{f.place.instances[n]})
		}
	}
	return failed
}

func (p *place) launch(ctx context.Context, node string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if _, alive := p.instances[node]; alive {
		return nil
	}
	if err := p.failing[node]; err != nil {
		return err
	}
	if !p.nodes[node] {
		return fmt.Errorf("launch %s: %w", node, ErrUnknown)
	}
	p.started++
	p.instances[node] = provider.Instance{Node: node, ID: fmt.Sprintf("i-%d", p.started), Started: time.Now()}
	return nil
}

// Terminate implements provider.Provider.
func (f *Fake) Terminate(ctx context.Context, nodes []string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	f.place.mu.Lock()
	defer f.place.mu.Unlock()
	for _, n := range nodes {
		delete(f.place.instances, n)
	}
	return nil
}

// Ended implements provider.Provider.
func (f *Fake) Ended() <-chan string { return f.ended }

// Kill ends a node's instance as a power cut does, and tells whether there was one.
func (f *Fake) Kill(node string) bool {
	f.place.mu.Lock()
	defer f.place.mu.Unlock()
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
	f.place.mu.Lock()
	defer f.place.mu.Unlock()
	delete(f.place.instances, node)
}

// Fail lets launches of a node fail from now on; nil ends that.
func (f *Fake) Fail(node string, err error) {
	f.place.mu.Lock()
	defer f.place.mu.Unlock()
	f.place.failing[node] = err
}

// Silence lets Observe fail from now on; nil ends that.
func (f *Fake) Silence(err error) {
	f.place.mu.Lock()
	defer f.place.mu.Unlock()
	f.place.silent = err
}

// Started counts the instances that were ever started.
func (f *Fake) Started() int {
	f.place.mu.Lock()
	defer f.place.mu.Unlock()
	return f.place.started
}
