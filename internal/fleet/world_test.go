package fleet_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/muster-hpc/muster/internal/fleet"
)

// place is a small model of Slurm and a provider: what they make of actions.
type place struct {
	now       time.Time
	nodes     []fleet.Node
	next      map[string]fleet.State // what a node that was asked becomes
	instances map[string]time.Time
	resumed   map[string]time.Time
	// broken counts how often a node's launch still fails.
	broken map[string]int
}

var reasons = []string{"", "bad fan", "Not responding", "ResumeTimeout reached", "muster: the instance ended", "muster: launch failed: no capacity"}

// randomPlace is a world in any state, however it came to be.
func randomPlace(r *rand.Rand) *place {
	p := &place{now: now, next: map[string]fleet.State{}, instances: map[string]time.Time{}, resumed: map[string]time.Time{}, broken: map[string]int{}}
	for i := range 1 + r.IntN(8) {
		n := fleet.Node{Name: fmt.Sprintf("n-%d", i), Static: r.IntN(3) == 0, State: fleet.State(r.IntN(6))}
		n.Closed = n.State == fleet.Down || n.State != fleet.PoweringUp && r.IntN(4) == 0
		n.Reason = reasons[r.IntN(len(reasons))]
		n.ReasonTime = ago(time.Duration(r.IntN(300)) * time.Second)
		if r.IntN(2) == 0 {
			p.instances[n.Name] = ago(time.Duration(r.IntN(200)) * time.Second)
		}
		if r.IntN(2) == 0 {
			p.resumed[n.Name] = ago(time.Duration(r.IntN(200)) * time.Second)
		}
		p.next[n.Name] = []fleet.State{fleet.PoweringUp, fleet.PoweringDown}[r.IntN(2)]
		p.broken[n.Name] = max(0, r.IntN(6)-3)
		p.nodes = append(p.nodes, n)
	}
	p.instances["removed-1"] = ago(time.Hour)
	return p
}

func (p *place) world(r *rand.Rand) fleet.World {
	w := fleet.World{Now: p.now, Limits: limits, Nodes: slices.Clone(p.nodes), Resumed: p.resumed}
	for name, started := range p.instances {
		w.Instances = append(w.Instances, fleet.Instance{Node: name, Started: started})
	}
	r.Shuffle(len(w.Nodes), func(i, j int) { w.Nodes[i], w.Nodes[j] = w.Nodes[j], w.Nodes[i] })
	r.Shuffle(len(w.Instances), func(i, j int) { w.Instances[i], w.Instances[j] = w.Instances[j], w.Instances[i] })
	return w
}

func (p *place) node(name string) *fleet.Node {
	i := slices.IndexFunc(p.nodes, func(n fleet.Node) bool { return n.Name == name })
	if i < 0 {
		return &fleet.Node{State: fleet.PoweredDown}
	}
	return &p.nodes[i]
}

func (p *place) apply(a fleet.Action) {
	for _, name := range a.Nodes {
		n := p.node(name)
		switch a.Deed {
		case fleet.Terminate:
			delete(p.instances, name)
		case fleet.SetDown:
			p.setDown(n, a.Reason)
		case fleet.PowerDown:
			n.State, p.next[name] = fleet.Asked, fleet.PoweringDown
		case fleet.PowerUp:
			n.State, p.next[name] = fleet.Asked, fleet.PoweringUp
		case fleet.Launch:
			if p.broken[name] > 0 {
				p.broken[name]--
				p.setDown(n, "muster: launch failed: no capacity")
				continue
			}
			p.instances[name] = p.now
		}
	}
}

func (p *place) setDown(n *fleet.Node, reason string) {
	n.State, n.Closed, n.Reason, n.ReasonTime = fleet.Down, true, reason, p.now
}

// pass lets a second go by in which Slurm does what it has to.
func (p *place) pass() {
	p.now = p.now.Add(time.Second)
	for i := range p.nodes {
		n := &p.nodes[i]
		started, alive := p.instances[n.Name]
		switch n.State {
		case fleet.Asked:
			n.State = p.next[n.Name]
			if n.State == fleet.PoweringUp {
				p.resumed[n.Name] = p.now
			}
		case fleet.PoweringDown:
			n.State, n.Closed = fleet.PoweredDown, false // SlurmctldParameters=idle_on_node_suspend
		case fleet.PoweringUp:
			// Slurm takes no registration of a machine that booted before its power-up.
			if asked := p.resumed[n.Name]; alive && !started.Before(asked) {
				n.State = fleet.Up
			}
		}
	}
}

func (p *place) moving() bool {
	return slices.ContainsFunc(p.nodes, func(n fleet.Node) bool {
		return n.State == fleet.Asked || n.State == fleet.PoweringDown || n.State == fleet.PoweringUp ||
			n.State == fleet.Down && strings.HasPrefix(n.Reason, "muster: ")
	})
}

func TestDecide_reaches_rest(t *testing.T) {
	const worlds, rounds = 3000, 900
	for seed := range uint64(worlds) {
		r := rand.New(rand.NewPCG(seed, 1))
		p := randomPlace(r)
		rest := false
		for round := 0; round < rounds && !rest; round++ {
			w := p.world(r)
			actions := fleet.Decide(w)
			checkActions(t, w, actions)
			if diff := cmp.Diff(actions, fleet.Decide(p.world(r))); diff != "" {
				t.Errorf("the order of the input shows:\n%s", diff)
			}
			for _, a := range actions {
				p.apply(a)
			}
			rest = len(actions) == 0 && !p.moving()
			p.pass()
		}
		if !rest {
			t.Errorf("no rest after %d rounds: %+v", rounds, p)
		}
		checkRest(t, p)
		if t.Failed() {
			t.Fatalf("world %d", seed)
		}
	}
}

// checkActions holds what is true of every decision.
func checkActions(t *testing.T, w fleet.World, actions []fleet.Action) {
	state := map[string]fleet.Node{}
	for _, n := range w.Nodes {
		state[n.Name] = n
	}
	done := map[string]bool{}
	for _, a := range actions {
		if a.Reason == "" || len(a.Nodes) == 0 || !slices.IsSorted(a.Nodes) {
			t.Errorf("%+v has no reason, no nodes or no order", a)
		}
		for _, name := range a.Nodes {
			n, known := state[name]
			switch {
			case done[string(a.Deed)+name]:
				t.Errorf("%s twice of %s", a.Deed, name)
			case a.Deed == fleet.Terminate && known && n.State == fleet.Up:
				t.Errorf("ends the instance of %+v, which is in use", n)
			case known && n.State == fleet.Asked:
				t.Errorf("%s of %+v, with which Slurm has not begun", a.Deed, n)
			case n.Closed && n.Reason == "bad fan" && (a.Deed == fleet.PowerUp || a.Deed == fleet.PowerDown):
				t.Errorf("%s of %+v, which somebody took out of service", a.Deed, n)
			}
			done[string(a.Deed)+name] = true
		}
	}
}

// checkRest holds what is true when there is nothing left to do.
func checkRest(t *testing.T, p *place) {
	for name := range p.instances {
		if n := p.node(name); n.State != fleet.Up && !n.Closed {
			t.Errorf("an instance is left of %q, which does not want it: %+v", name, n)
		}
	}
	for _, n := range p.nodes {
		_, alive := p.instances[n.Name]
		switch {
		case n.State == fleet.Up && !alive:
			t.Errorf("%+v is up without an instance", n)
		case n.Static && n.State != fleet.Up && !n.Closed:
			t.Errorf("%+v is static and not up", n)
		}
	}
}
