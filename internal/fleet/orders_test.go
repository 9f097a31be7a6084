package fleet_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/slurm"
)

func nodesOf(resource string, from, to int) []fleet.Node {
	var nodes []fleet.Node
	for i := from; i <= to; i++ {
		name := fmt.Sprintf("q-dy-%s-%d", resource, i)
		nodes = append(nodes, fleet.Node{Name: name, Resource: slurm.Resource{Queue: "q", Name: resource}})
	}
	return nodes
}

func namesOf(resource string, from, to int) []string {
	var names []string
	for _, n := range nodesOf(resource, from, to) {
		names = append(names, n.Name)
	}
	return names
}

func TestOrders(t *testing.T) {
	r, s := slurm.Resource{Queue: "q", Name: "r"}, slurm.Resource{Queue: "q", Name: "s"}
	nodes := append(nodesOf("r", 1, 12), nodesOf("s", 1, 2)...)
	pending := []fleet.PendingJob{
		{Job: 7, Nodes: namesOf("r", 1, 3)},
		{Job: 8, Nodes: namesOf("r", 4, 4)},
		{Job: 9, Nodes: append(namesOf("r", 3, 6), namesOf("s", 1, 1)...)},
		{Job: 10, Nodes: namesOf("r", 10, 11)},
		{Job: 11, Nodes: namesOf("t", 1, 2)},
	}
	whole := []provider.Order{
		{Resource: r, Nodes: namesOf("r", 1, 3), Whole: true},
		{Resource: r, Nodes: namesOf("r", 4, 6), Whole: true},
		{Resource: s, Nodes: namesOf("s", 1, 1), Whole: true},
		{Resource: r, Nodes: namesOf("r", 10, 11), Whole: true},
	}
	plain := []provider.Order{{Resource: r, Nodes: namesOf("r", 1, 12)}, {Resource: s, Nodes: namesOf("s", 1, 2)}}
	rest := []provider.Order{{Resource: r, Nodes: append(namesOf("r", 7, 9), namesOf("r", 12, 12)...)}, {Resource: s, Nodes: namesOf("s", 2, 2)}}
	for _, row := range []struct {
		name     string
		strategy fleet.Strategy
		pending  []fleet.PendingJob
		want     []provider.Order
	}{
		{"by_default", "", pending, slices.Concat(whole, rest)},
		{"all_or_nothing", fleet.AllOrNothing, pending, slices.Concat(whole, rest)},
		{"greedy", fleet.GreedyAllOrNothing, pending, plain},
		{"best_effort", fleet.BestEffort, pending, plain},
		{"for_no_job", fleet.AllOrNothing, nil, plain},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, fleet.Orders(row.strategy, nodes, row.pending)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
	t.Run("single_nodes_of_jobs_go_together", func(t *testing.T) {
		pending := []fleet.PendingJob{{Job: 1, Nodes: namesOf("r", 1, 1)}, {Job: 2, Nodes: namesOf("r", 2, 2)}, {Job: 3, Nodes: append(namesOf("r", 3, 3), "q-dy-r-99")}}
		want := []provider.Order{{Resource: r, Nodes: namesOf("r", 1, 3)}}
		if diff := cmp.Diff(want, fleet.Orders(fleet.AllOrNothing, nodesOf("r", 1, 3), pending)); diff != "" {
			t.Errorf("want -, got +:\n%s", diff)
		}
	})
	if got := fleet.Orders(fleet.AllOrNothing, nil, pending); len(got) > 0 {
		t.Errorf("orders for nothing: %+v", got)
	}
}

// launchWorld is a random launch: nodes, jobs, and a strategy.
func launchWorld(r *rand.Rand) (nodes []fleet.Node, pending []fleet.PendingJob) {
	for _, resource := range []string{"r", "s", "t"} {
		nodes = append(nodes, nodesOf(resource, 1, r.IntN(12))...)
	}
	r.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	for job := range r.IntN(8) {
		w := fleet.PendingJob{Job: job + 1}
		for range r.IntN(8) {
			if len(nodes) > 0 {
				w.Nodes = append(w.Nodes, nodes[r.IntN(len(nodes))].Name)
			}
		}
		if r.IntN(4) == 0 {
			w.Nodes = append(w.Nodes, "q-dy-up-1") // which is up
		}
		pending = append(pending, w)
	}
	return nodes, pending
}

var strategies = []fleet.Strategy{fleet.AllOrNothing, fleet.GreedyAllOrNothing, fleet.BestEffort, ""}

func TestOrders_lose_and_double_no_node(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 2))
		nodes, pending := launchWorld(r)
		s := strategies[r.IntN(len(strategies))]
		of := map[string]slurm.Resource{}
		for _, n := range nodes {
			of[n.Name] = n.Resource
		}
		seen := map[string]bool{}
		for _, o := range fleet.Orders(s, nodes, pending) {
			if len(o.Nodes) == 0 || o.Whole && (s == fleet.BestEffort || s == fleet.GreedyAllOrNothing) {
				t.Fatalf("seed %d: %+v", seed, o)
			}
			for _, n := range o.Nodes {
				if resource, known := of[n]; !known || seen[n] || resource != o.Resource {
					t.Fatalf("seed %d: %s in %+v", seed, n, o)
				}
				seen[n] = true
			}
		}
		if len(seen) != len(nodes) {
			t.Fatalf("seed %d: %d of %d nodes are ordered", seed, len(seen), len(nodes))
		}
		turned := slices.Clone(nodes)
		slices.Reverse(turned)
		if diff := cmp.Diff(fleet.Orders(s, nodes, pending), fleet.Orders(s, turned, pending)); diff != "" {
			t.Fatalf("seed %d: the order of the nodes shows:\n%s", seed, diff)
		}
	}
}

// claims are the nodes of each job in a launch: a node that several want is the
// first one's.
func claims(orders []provider.Order, pending []fleet.PendingJob) map[int][]string {
	free := map[string]bool{}
	for _, o := range orders {
		for _, n := range o.Nodes {
			free[n] = true
		}
	}
	of := map[int][]string{}
	for _, w := range pending {
		for _, n := range w.Nodes {
			if free[n] {
				of[w.Job] = append(of[w.Job], n)
				delete(free, n)
			}
		}
	}
	return of
}

func TestSettle(t *testing.T) {
	jobs := []fleet.PendingJob{{Job: 1, Nodes: namesOf("r", 1, 3)}, {Job: 2, Nodes: namesOf("r", 4, 5)}, {Job: 3, Nodes: namesOf("r", 6, 6)}}
	all := nodesOf("r", 1, 7)
	two := []fleet.PendingJob{{Job: 1, Nodes: append(namesOf("r", 1, 2), namesOf("s", 1, 2)...)}}
	both := append(nodesOf("r", 1, 2), nodesOf("s", 1, 2)...)
	for _, row := range []struct {
		name     string
		strategy fleet.Strategy
		nodes    []fleet.Node
		pending  []fleet.PendingJob
		lacking  []string
		moves    map[string]string
		giveBack map[string]int
	}{
		{"all_there", fleet.GreedyAllOrNothing, all, jobs, nil, nil, nil},
		{"best_effort_keeps", fleet.BestEffort, all, jobs, namesOf("r", 2, 5), nil, nil},
		{"first_is_served_first", fleet.GreedyAllOrNothing, all, jobs,
			[]string{"q-dy-r-2", "q-dy-r-4"}, map[string]string{"q-dy-r-5": "q-dy-r-2"}, map[string]int{"q-dy-r-5": 2}},
		{"nobody_can_be_served", fleet.GreedyAllOrNothing, all, jobs[:2],
			[]string{"q-dy-r-2", "q-dy-r-3", "q-dy-r-4", "q-dy-r-5"}, nil, map[string]int{"q-dy-r-1": 1}},
		{"second_takes_from_the_first", fleet.GreedyAllOrNothing, all, jobs,
			[]string{"q-dy-r-2", "q-dy-r-3", "q-dy-r-5"}, map[string]string{"q-dy-r-1": "q-dy-r-5"}, map[string]int{"q-dy-r-1": 1}},
		{"nodes_for_nobody_stay", fleet.GreedyAllOrNothing, all, jobs, []string{"q-dy-r-1", "q-dy-r-2", "q-dy-r-3"}, nil, nil},
		{"one_resource_of_two", fleet.AllOrNothing, both, two, namesOf("s", 1, 2), nil, map[string]int{"q-dy-r-1": 1, "q-dy-r-2": 1}},
		{"greedy_over_two", fleet.GreedyAllOrNothing, both, two, namesOf("s", 1, 1), nil, map[string]int{"q-dy-r-1": 1, "q-dy-r-2": 1, "q-dy-s-2": 1}},
	} {
		t.Run(row.name, func(t *testing.T) {
			lacking := map[string]bool{}
			for _, n := range row.lacking {
				lacking[n] = true
			}
			got := fleet.Settle(row.strategy, fleet.Orders(row.strategy, row.nodes, row.pending), row.pending, lacking)
			if !maps.Equal(row.moves, got.Moves) || !maps.Equal(row.giveBack, got.GiveBack) {
				t.Errorf("got %v and %v, want %v and %v", got.Moves, got.GiveBack, row.moves, row.giveBack)
			}
		})
	}
}

func TestSettle_leaves_whole_jobs_and_wastes_nothing(t *testing.T) {
	for seed := range uint64(5000) {
		r := rand.New(rand.NewPCG(seed, 3))
		nodes, pending := launchWorld(r)
		s := strategies[r.IntN(len(strategies))]
		orders := fleet.Orders(s, nodes, pending)
		lacking, has, of := map[string]bool{}, map[string]bool{}, map[string]slurm.Resource{}
		for _, o := range orders {
			fails := r.IntN(3) == 0
			for _, n := range o.Nodes {
				of[n] = o.Resource
				if o.Whole && fails || !o.Whole && r.IntN(4) == 0 {
					lacking[n] = true
				} else {
					has[n] = true
				}
			}
		}
		got := fleet.Settle(s, orders, pending, lacking)
		before := len(has)
		for from, to := range got.Moves {
			if _, back := got.GiveBack[from]; !has[from] || !lacking[to] || of[from] != of[to] || !back {
				t.Fatalf("seed %d: %s gives to %s", seed, from, to)
			}
		}
		for n := range got.GiveBack {
			if !has[n] {
				t.Fatalf("seed %d: %s gives back what it has not", seed, n)
			}
			delete(has, n)
		}
		for _, to := range got.Moves {
			if has[to] {
				t.Fatalf("seed %d: %s gets a second one", seed, to)
			}
			has[to] = true
		}
		if len(has) > before {
			t.Fatalf("seed %d: there is more than before", seed)
		}
		if s == fleet.BestEffort {
			continue
		}
		for job, mine := range claims(orders, pending) {
			n := 0
			for _, m := range mine {
				if has[m] {
					n++
				}
			}
			if n != 0 && n != len(mine) {
				t.Fatalf("seed %d, %s: job %d has %d of %d nodes", seed, s, job, n, len(mine))
			}
		}
	}
}
