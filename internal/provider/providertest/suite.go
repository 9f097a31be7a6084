// Package providertest has the conformance suite of provider.Provider and a
// fake that passes it.
package providertest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/slurm"
)

// Place is somewhere to hold against the contract. It has room for the nodes
// and no instance.
type Place struct {
	Provider provider.Provider
	// Nodes are at least three.
	Nodes []string
	// Kill ends a node's instance behind the provider's back.
	Kill func(t *testing.T, node string)
	// Again opens the same place once more, as after a crash of the first user.
	Again func(t *testing.T) provider.Provider
}

// startedGrain is how wrong Started may be.
const startedGrain = time.Second

// patience is how long the suite waits for what has to come.
const patience = 5 * time.Minute

// Run holds a place against the contract. open is called for each test.
func Run(t *testing.T, open func(t *testing.T) Place) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Place)
	}{
		{"nothing_at_first", nothingAtFirst},
		{"launch_is_observed", launchIsObserved},
		{"launch_leaves_the_living", launchLeavesTheLiving},
		{"launch_names_those_that_failed", launchNamesFailures},
		{"launch_at_once_from_many", launchFromMany},
		{"launch_is_cancelled", launchCancelled},
		{"terminate_ends", terminateEnds},
		{"terminate_twice_and_of_nothing", terminateTwice},
		{"terminate_makes_room", terminateMakesRoom},
		{"end_is_told", endIsTold},
		{"wanted_end_is_no_news", wantedEndIsNoNews},
		{"killed_node_is_launched_again", killedNodeComesBack},
		{"instances_outlive_their_maker", instancesOutlive},
		{"whole_or_nothing", wholeOrNothing},
		{"launch_tells_what_starts", launchTells},
		{"terminate_by_id", terminateByID},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

// Orders asks for nodes, in an order for each compute resource.
func Orders(nodes ...string) []provider.Order {
	var orders []provider.Order
	for _, n := range nodes {
		r := slurm.Node{Name: n}.Resource()
		i := slices.IndexFunc(orders, func(o provider.Order) bool { return o.Resource == r })
		if i < 0 {
			i, orders = len(orders), append(orders, provider.Order{Resource: r})
		}
		orders[i].Nodes = append(orders[i].Nodes, n)
	}
	return orders
}

// Whole asks for all of the nodes or none. They should be of one compute resource.
func Whole(nodes ...string) provider.Order {
	return provider.Order{Resource: slurm.Node{Name: nodes[0]}.Resource(), Nodes: nodes, Whole: true}
}

func observe(t *testing.T, p provider.Provider) map[string]provider.Instance {
	t.Helper()
	list, err := p.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]provider.Instance{}
	for _, i := range list {
		if _, twice := found[i.Node]; twice || i.Node == "" || i.ID == "" {
			t.Fatalf("%+v comes twice, or has no node or no ID", i)
		}
		found[i.Node] = i
	}
	return found
}

func launch(t *testing.T, p provider.Provider, nodes ...string) map[string]provider.Instance {
	t.Helper()
	if failed := p.Launch(t.Context(), Orders(nodes...), nil); len(failed) > 0 {
		t.Fatalf("launch failed: %v", failed)
	}
	found := observe(t, p)
	for _, n := range nodes {
		if _, ok := found[n]; !ok {
			t.Fatalf("%s was launched and is not observed", n)
		}
	}
	return found
}

func terminate(t *testing.T, p provider.Provider, nodes ...string) {
	t.Helper()
	if err := p.Terminate(t.Context(), nodes); err != nil {
		t.Fatal(err)
	}
}

// hears waits for the news of a node's end. News of it may come more than once.
func hears(t *testing.T, p provider.Provider, node string) {
	t.Helper()
	select {
	case got := <-p.Ended():
		if got != node {
			t.Errorf("%q ended, want %q", got, node)
		}
	case <-time.After(patience):
		t.Errorf("no news of the end of %s", node)
	}
}

func nothingAtFirst(t *testing.T, p Place) {
	if found := observe(t, p.Provider); len(found) > 0 {
		t.Errorf("observed %v in an empty place", found)
	}
	if failed := p.Provider.Launch(t.Context(), nil, nil); len(failed) > 0 {
		t.Errorf("launch of nothing failed: %v", failed)
	}
}

func launchIsObserved(t *testing.T, p Place) {
	before := time.Now()
	found := launch(t, p.Provider, p.Nodes...)
	for _, n := range p.Nodes {
		if s := found[n].Started; s.Before(before.Add(-startedGrain)) || s.After(time.Now().Add(startedGrain)) {
			t.Errorf("%s was started at %s, launched between %s and now", n, s, before)
		}
	}
	if len(found) != len(p.Nodes) {
		t.Errorf("observed %v, launched %v", found, p.Nodes)
	}
}

func launchLeavesTheLiving(t *testing.T, p Place) {
	first := launch(t, p.Provider, p.Nodes[0])
	second := launch(t, p.Provider, p.Nodes[0], p.Nodes[1])
	if first[p.Nodes[0]].ID != second[p.Nodes[0]].ID {
		t.Errorf("a second launch replaced %v by %v", first[p.Nodes[0]], second[p.Nodes[0]])
	}
}

func launchNamesFailures(t *testing.T, p Place) {
	failed := p.Provider.Launch(t.Context(), Orders(p.Nodes[0], "no-such-node-1"), nil)
	if len(failed) != 1 || failed["no-such-node-1"] == nil {
		t.Errorf("failed are %v, want only no-such-node-1", failed)
	}
	if found := observe(t, p.Provider); len(found) != 1 || found[p.Nodes[0]].ID == "" {
		t.Errorf("observed %v, want %s: one failure must not stop the others", found, p.Nodes[0])
	}
}

func launchFromMany(t *testing.T, p Place) {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if failed := p.Provider.Launch(t.Context(), Orders(p.Nodes...), nil); len(failed) > 0 {
				t.Errorf("launch failed: %v", failed)
			}
		})
		all.Go(func() {
			if _, err := p.Provider.Observe(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if found := observe(t, p.Provider); len(found) != len(p.Nodes) {
		t.Errorf("observed %v after %v was launched four times at once", found, p.Nodes)
	}
}

func launchCancelled(t *testing.T, p Place) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	failed := p.Provider.Launch(ctx, Orders(p.Nodes...), nil)
	found := observe(t, p.Provider)
	for _, n := range p.Nodes {
		if _, alive := found[n]; alive == (failed[n] != nil) {
			t.Errorf("%s: alive %t, error %v", n, alive, failed[n])
		}
	}
}

func terminateEnds(t *testing.T, p Place) {
	launch(t, p.Provider, p.Nodes...)
	terminate(t, p.Provider, p.Nodes[0], p.Nodes[2])
	found := observe(t, p.Provider)
	if _, alive := found[p.Nodes[1]]; len(found) != 1 || !alive {
		t.Errorf("observed %v, want only %s", found, p.Nodes[1])
	}
}

func terminateTwice(t *testing.T, p Place) {
	launch(t, p.Provider, p.Nodes[0])
	terminate(t, p.Provider, p.Nodes[0])
	terminate(t, p.Provider, p.Nodes[0], p.Nodes[1], "no-such-node-1")
	terminate(t, p.Provider)
}

func terminateMakesRoom(t *testing.T, p Place) {
	first := launch(t, p.Provider, p.Nodes[0])
	terminate(t, p.Provider, p.Nodes[0])
	second := launch(t, p.Provider, p.Nodes[0])
	if first[p.Nodes[0]].ID == second[p.Nodes[0]].ID {
		t.Errorf("%v came back from its end", first[p.Nodes[0]])
	}
}

func endIsTold(t *testing.T, p Place) {
	launch(t, p.Provider, p.Nodes...)
	p.Kill(t, p.Nodes[1])
	hears(t, p.Provider, p.Nodes[1])
	if found := observe(t, p.Provider); len(found) != len(p.Nodes)-1 {
		t.Errorf("observed %v after the end of %s", found, p.Nodes[1])
	}
}

func wantedEndIsNoNews(t *testing.T, p Place) {
	launch(t, p.Provider, p.Nodes...)
	terminate(t, p.Provider, p.Nodes[0])
	p.Kill(t, p.Nodes[1])
	hears(t, p.Provider, p.Nodes[1]) // and not of the other before it
}

func killedNodeComesBack(t *testing.T, p Place) {
	for range 2 {
		launch(t, p.Provider, p.Nodes[0])
		p.Kill(t, p.Nodes[0])
		hears(t, p.Provider, p.Nodes[0])
	}
	launch(t, p.Provider, p.Nodes[0])
}

func instancesOutlive(t *testing.T, p Place) {
	before := launch(t, p.Provider, p.Nodes...)
	again := p.Again(t)
	after := observe(t, again)
	for _, n := range p.Nodes {
		if before[n].ID != after[n].ID {
			t.Errorf("the new user sees %v, the old one %v", after[n], before[n])
		}
	}
	p.Kill(t, p.Nodes[0])
	hears(t, again, p.Nodes[0])
	terminate(t, again, p.Nodes[1:]...)
	if left := observe(t, again); len(left) > 0 {
		t.Errorf("the new user cannot end %v", slices.Sorted(maps.Keys(left)))
	}
}

func wholeOrNothing(t *testing.T, p Place) {
	orders := []provider.Order{
		Whole(p.Nodes[0], "no-such-node-1", p.Nodes[1]),
		Whole(p.Nodes[2]),
	}
	failed := p.Provider.Launch(t.Context(), orders, nil)
	for _, n := range orders[0].Nodes {
		if failed[n] == nil {
			t.Errorf("%s did not fail with the others of its order", n)
		}
	}
	if found := observe(t, p.Provider); len(failed) != 3 || len(found) != 1 || found[p.Nodes[2]].ID == "" {
		t.Errorf("failed are %v and observed %v, want only %s", failed, found, p.Nodes[2])
	}
	alive := launch(t, p.Provider, p.Nodes[0])[p.Nodes[0]]
	if failed := p.Provider.Launch(t.Context(), orders[:1], nil); len(failed) == 0 {
		t.Error("nothing failed")
	}
	if found := observe(t, p.Provider); found[p.Nodes[0]].ID != alive.ID {
		t.Errorf("an order that failed replaced %v by %v", alive, found[p.Nodes[0]])
	}
	alike := slices.DeleteFunc(slices.Clone(p.Nodes), func(n string) bool { return group(n) != group(p.Nodes[0]) })
	if failed := p.Provider.Launch(t.Context(), []provider.Order{Whole(alike...)}, nil); len(failed) > 0 {
		t.Errorf("failed are %v, want none", failed)
	}
	found := observe(t, p.Provider)
	for _, n := range alike {
		if found[n].ID == "" {
			t.Errorf("observed %v, want %v", found, alike)
		}
	}
}

func launchTells(t *testing.T, p Place) {
	var mu sync.Mutex
	told := map[string]provider.Instance{}
	failed := p.Provider.Launch(t.Context(), Orders(append(slices.Clone(p.Nodes), "no-such-node-1")...), func(list []provider.Instance) {
		mu.Lock()
		defer mu.Unlock()
		for _, i := range list {
			told[i.Node] = i
		}
	})
	found := observe(t, p.Provider)
	for _, n := range p.Nodes {
		if told[n].ID != found[n].ID || told[n].Address != found[n].Address {
			t.Errorf("told of %+v, observed %+v", told[n], found[n])
		}
	}
	if len(told) != len(p.Nodes) || len(failed) != 1 {
		t.Errorf("told of %v, failed are %v", told, failed)
	}
}

func terminateByID(t *testing.T, p Place) {
	found := launch(t, p.Provider, p.Nodes...)
	terminate(t, p.Provider, found[p.Nodes[1]].ID)
	if found := observe(t, p.Provider); len(found) != len(p.Nodes)-1 || found[p.Nodes[1]].ID != "" {
		t.Errorf("observed %v, want all but %s", found, p.Nodes[1])
	}
}
