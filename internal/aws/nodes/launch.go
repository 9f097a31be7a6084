package nodes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/muster-hpc/muster/internal/provider"
)

// smallest is what a part of a launch has at least: below that another call costs
// more time than it saves.
const smallest = 50

// batch is what one call launches.
type batch struct {
	resource *Resource
	nodes    []string
	whole    bool
}

// launching is one call of Launch.
type launching struct {
	*Fleet
	started func([]provider.Instance)

	mu     sync.Mutex // guards failed
	failed map[string]error
}

// Launch implements provider.Provider.
func (f *Fleet) Launch(ctx context.Context, orders []provider.Order, started func([]provider.Instance)) map[string]error {
	if started == nil {
		started = func([]provider.Instance) {}
	}
	l := &launching{Fleet: f, started: started, failed: map[string]error{}}
	some, whole := l.sort(orders)
	if err := f.prepare(ctx); err != nil {
		for _, o := range orders {
			l.fail(err, o.Nodes...)
		}
		return l.failed
	}
	var all sync.WaitGroup
	for r, nodes := range some {
		all.Go(func() { l.some(ctx, r, nodes) })
	}
	for r, lists := range whole {
		for _, g := range group(lists, f.part(nodesIn(lists))) {
			all.Go(func() { l.together(ctx, r, g) })
		}
	}
	all.Wait()
	return l.failed
}

func (f *Fleet) prepare(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	return f.ready(ctx)
}

func (l *launching) fail(err error, nodes ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range nodes {
		l.failed[n] = err
	}
}

// sort divides orders by compute resource into nodes of which each is welcome, and
// lists that are all or nothing.
func (l *launching) sort(orders []provider.Order) (some map[*Resource][]string, whole map[*Resource][][]string) {
	some, whole = map[*Resource][]string{}, map[*Resource][][]string{}
	for _, o := range orders {
		r := l.resource(o.Resource)
		var mine []string
		var strange error
		for _, n := range o.Nodes {
			if r.owns(n) {
				mine = append(mine, n)
				continue
			}
			strange = configuration(fmt.Errorf("node %s is not in the cluster file", n))
			l.fail(strange, n)
		}
		switch {
		case o.Whole && strange != nil:
			l.fail(strange, o.Nodes...)
		case o.Whole && len(mine) > 1:
			whole[r] = append(whole[r], distinct(mine))
		case len(mine) > 0:
			some[r] = append(some[r], mine...)
		}
	}
	for r := range some {
		some[r] = distinct(some[r])
	}
	return some, whole
}

func distinct(nodes []string) []string { return slices.Compact(slices.Sorted(slices.Values(nodes))) }

func configuration(err error) error {
	return &provider.LaunchError{Cause: provider.Configuration, Message: err.Error()}
}

// part is how many nodes go into one call, of many that need not come together:
// enough that the calls that may be made at once take all, for an instance takes
// EC2 a while.
func (f *Fleet) part(nodes int) int {
	n := (nodes + f.Limits.Calls - 1) / f.Limits.Calls
	return min(max(n, smallest), f.Limits.Batch)
}

func nodesIn(lists [][]string) (n int) {
	for _, l := range lists {
		n += len(l)
	}
	return n
}

// group puts lists together that share no node and have up to most nodes.
func group(lists [][]string, most int) [][][]string {
	var groups [][][]string
	var has []map[string]bool
	for _, list := range lists {
		at := slices.IndexFunc(has, func(h map[string]bool) bool {
			return len(h)+len(list) <= most && !slices.ContainsFunc(list, func(n string) bool { return h[n] })
		})
		if at < 0 {
			at = len(groups)
			groups, has = append(groups, nil), append(has, map[string]bool{})
		}
		groups[at] = append(groups[at], list)
		for _, n := range list {
			has[at][n] = true
		}
	}
	return groups
}

// some launches as many of the nodes as there can be.
func (l *launching) some(ctx context.Context, r *Resource, nodes []string) {
	mine, release := l.take(ctx, nodes)
	defer release()
	var all sync.WaitGroup
	for part := range slices.Chunk(mine, l.part(len(mine))) {
		all.Go(func() {
			if err := l.carryOut(ctx, batch{resource: r, nodes: part}); err != nil {
				l.fail(err, part...)
			}
		})
	}
	all.Wait()
}

// together launches lists of nodes, each of which comes whole or not at all: first
// in one call for all of them, and if EC2 has not as much, each for itself.
func (l *launching) together(ctx context.Context, r *Resource, lists [][]string) {
	mine, release := l.take(ctx, slices.Concat(lists...))
	defer release()
	lists = l.left(lists, mine)
	nodes := slices.Concat(lists...)
	if len(nodes) == 0 {
		return
	}
	err := l.whole(ctx, r, nodes)
	if err == nil {
		return
	}
	var refused *provider.LaunchError
	if len(lists) == 1 || !errors.As(err, &refused) || refused.Cause != provider.Capacity && refused.Cause != provider.Limit {
		l.fail(err, nodes...)
		return
	}
	var all sync.WaitGroup
	for _, list := range lists {
		all.Go(func() {
			if err := l.whole(ctx, r, list); err != nil {
				l.fail(err, list...)
			}
		})
	}
	all.Wait()
}

// left is what of each list has to be launched. A list with a node that cannot be
// launched now is not launched at all.
func (l *launching) left(lists [][]string, mine []string) [][]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var left [][]string
	for _, list := range lists {
		bad := slices.IndexFunc(list, func(n string) bool { return l.failed[n] != nil })
		need := slices.DeleteFunc(slices.Clone(list), func(n string) bool { return !slices.Contains(mine, n) })
		switch {
		case bad >= 0:
			for _, n := range need {
				l.failed[n] = l.failed[list[bad]]
			}
		case len(need) > 0:
			left = append(left, need)
		}
	}
	return left
}

// whole launches all of the nodes or none.
func (l *launching) whole(ctx context.Context, r *Resource, nodes []string) error {
	if len(nodes) <= l.Limits.Batch {
		return l.carryOut(ctx, batch{resource: r, nodes: nodes, whole: true})
	}
	if err := l.reserved(ctx, r, len(nodes)); err != nil {
		return err
	}
	var all sync.WaitGroup
	parts := slices.Collect(slices.Chunk(nodes, l.Limits.Batch))
	failures := make([]error, len(parts))
	for i, part := range parts {
		all.Go(func() { failures[i] = l.carryOut(ctx, batch{resource: r, nodes: part, whole: true}) })
	}
	all.Wait()
	err := errors.Join(failures...)
	if err == nil {
		return nil
	}
	return errors.Join(err, l.end(context.WithoutCancel(ctx), l.instancesOf(nodes)))
}

// take waits until no other call launches the nodes, and claims those that have no
// instance. Nodes fail if it is not known whether they have one.
func (l *launching) take(ctx context.Context, nodes []string) (mine []string, release func()) {
	nodes = slices.Clone(nodes)
	for {
		wait, lost := l.claim(nodes, &mine)
		var err error
		switch {
		case wait != nil:
			select {
			case <-wait.done:
			case <-ctx.Done():
				l.fail(context.Cause(ctx), nodes...)
				return nil, func() {}
			}
		case lost != nil:
			if err = l.settle(ctx, lost, l.started); err != nil {
				l.fail(&provider.LaunchError{Cause: provider.Unknown, Message: err.Error()}, common(nodes, lost.Nodes)...)
				nodes = slices.DeleteFunc(nodes, func(n string) bool { return slices.Contains(lost.Nodes, n) })
			}
		default:
			return mine, func() { l.release(mine) }
		}
	}
}

func common(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(n string) bool { return !slices.Contains(b, n) })
}

// claim claims the nodes without an instance, unless some are being launched or
// belong to a launch without an answer.
func (f *Fleet) claim(nodes []string, mine *[]string) (*claim, *intent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range nodes {
		if c := f.claims[n]; c != nil {
			return c, nil
		}
	}
	if i := f.unsettled(nodes); i != nil {
		return nil, i
	}
	c := &claim{done: make(chan struct{})}
	for _, n := range nodes {
		if _, alive := f.of[n]; !alive {
			f.claims[n] = c
			*mine = append(*mine, n)
		}
	}
	return nil, nil
}

// release ends a claim.
func (f *Fleet) release(mine []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var done *claim
	for _, n := range mine {
		done = f.claims[n]
		delete(f.claims, n)
	}
	if done != nil {
		close(done.done)
	}
}

// sortedKeys are keys in an order that does not change.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
