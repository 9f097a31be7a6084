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
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/slurm"
)

// place is a small model of Slurm and a provider: what they make of actions.
type place struct {
	now       time.Time
	nodes     []fleet.Node
	next      map[string]fleet.State // what a node that was asked becomes
	instances map[string]time.Time
	resumed   map[string]time.Time
	// broken counts how often a node's launch still fails, and why it does.
	broken   map[string]int
	why      map[string]error
	ids      map[string]string
	health   map[string]provider.HealthEvent
	jobs     map[string]time.Time // when the node's job ends
	halts    map[slurm.Resource]fleet.Halt
	inFlight map[string]bool
}

var reasons = []string{"", "bad fan", "Duplicate jobid", "Not responding", "ResumeTimeout reached", "muster: the instance ended", "muster: launch failed: no capacity",
	"muster: launch failed, capacity: (Code:X) none", "muster: launch failed, limit: (Code:Y) none", "muster: no capacity in q/r: (Code:X) none", "muster: job 7 did not get all of its nodes"}

// worldLimits are short, so that a world comes to rest soon.
var worldLimits = fleet.Limits{Boot: time.Minute, Retry: 2 * time.Minute, Short: 3 * time.Minute, Impaired: time.Minute, Orphan: time.Minute, Failures: 10}

// randomPlace is a world in any state, however it came to be.
func randomPlace(r *rand.Rand) *place {
	p := &place{now: now, next: map[string]fleet.State{}, instances: map[string]time.Time{}, resumed: map[string]time.Time{}, broken: map[string]int{}}
	p.why, p.ids, p.health, p.jobs = map[string]error{}, map[string]string{}, map[string]provider.HealthEvent{}, map[string]time.Time{}
	p.halts, p.inFlight = map[slurm.Resource]fleet.Halt{}, map[string]bool{}
	for i := range 1 + r.IntN(8) {
		n := fleet.Node{Name: fmt.Sprintf("n-%d", i), Static: r.IntN(3) == 0, State: fleet.State(r.IntN(6)), Resource: slurm.Resource{Queue: "q", Name: []string{"r", "s"}[r.IntN(2)]}}
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
		p.why[n.Name] = launchError([]provider.Cause{provider.Capacity, provider.Limit, provider.Unknown}[r.IntN(3)], "X")
		p.trouble(r, &n)
		n.Silent = n.Silent || n.State == fleet.PoweredDown && r.IntN(2) == 0
		p.nodes = append(p.nodes, n)
	}
	for _, name := range []string{"r", "s"} {
		if r.IntN(4) == 0 {
			p.halts[slurm.Resource{Queue: "q", Name: name}] = fleet.Halt{Reason: "because", Ending: fleet.Ending(r.IntN(4))}
		}
	}
	p.instances["removed-1"] = ago(time.Hour)
	return p
}

// trouble gives a node a job, health events of its instance, or a launch in flight.
func (p *place) trouble(r *rand.Rand, n *fleet.Node) {
	if n.State == fleet.Up && r.IntN(2) == 0 {
		n.Busy, n.Silent = true, r.IntN(3) == 0
		p.jobs[n.Name] = now.Add(time.Duration(r.IntN(200)) * time.Second)
		n.Until = p.jobs[n.Name]
	}
	if r.IntN(3) == 0 {
		code := []string{"impaired", "instance-retirement", "instance-stop", "system-reboot"}[r.IntN(4)]
		p.health[n.Name] = provider.HealthEvent{Code: code, Since: ago(time.Minute), NotBefore: now.Add(time.Duration(r.IntN(400)-100) * time.Second)}
	}
	p.inFlight[n.Name] = r.IntN(8) == 0
}

func (p *place) world(r *rand.Rand) fleet.World {
	w := fleet.World{Now: p.now, Limits: worldLimits, Nodes: slices.Clone(p.nodes), Resumed: p.resumed, Halts: p.halts, InFlight: p.inFlight}
	for name, started := range p.instances {
		i := provider.Instance{Node: name, ID: name + p.ids[name], Started: started}
		if d, ok := p.health[name]; ok {
			i.Health = []provider.HealthEvent{d}
		}
		w.Instances = append(w.Instances, i)
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
		switch a.Kind {
		case fleet.Terminate:
			delete(p.instances, name)
			delete(p.health, name)
		case fleet.Drain:
			n.Closed, n.Reason, n.ReasonTime = true, a.Reason, p.now
		case fleet.SetDown:
			p.setDown(n, a.Reason)
		case fleet.PowerDown:
			n.State, p.next[name] = fleet.Asked, fleet.PoweringDown
		case fleet.PowerUp:
			n.State, p.next[name] = fleet.Asked, fleet.PoweringUp
		case fleet.Launch:
			if p.broken[name] > 0 {
				p.broken[name]--
				p.setDown(n, fleet.LaunchReason(p.why[name]))
				continue
			}
			p.instances[name], p.ids[name] = p.now, p.now.String()
		}
	}
}

func (p *place) setDown(n *fleet.Node, reason string) {
	n.State, n.Closed, n.Reason, n.ReasonTime, n.Busy, n.Silent = fleet.Down, true, reason, p.now, false, false
}

// pass lets a second go by in which Slurm does what it has to.
func (p *place) pass() {
	p.now = p.now.Add(time.Second)
	clear(p.inFlight)
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.Busy && !p.now.Before(p.jobs[n.Name]) {
			n.Busy, n.Silent, n.Until = false, false, time.Time{}
		}
		started, alive := p.instances[n.Name]
		switch n.State {
		case fleet.Asked:
			n.State = p.next[n.Name]
			if n.State == fleet.PoweringUp {
				p.resumed[n.Name] = p.now
			}
		case fleet.PoweringDown:
			n.State, n.Closed, n.Silent = fleet.PoweredDown, false, false // SlurmctldParameters=idle_on_node_suspend
		case fleet.PoweringUp:
			// Slurm takes no registration of a machine that booted before its power-up.
			if asked := p.resumed[n.Name]; alive && !started.Before(asked) {
				n.State, n.Silent = fleet.Up, false
			}
		}
	}
}

func (p *place) moving() bool {
	return slices.ContainsFunc(p.nodes, func(n fleet.Node) bool {
		_, ailing := p.health[n.Name]
		_, alive := p.instances[n.Name]
		return n.State == fleet.Asked || n.State == fleet.PoweringDown || n.State == fleet.PoweringUp || ailing && alive && !n.Closed || n.Busy || p.inFlight[n.Name] ||
			n.State == fleet.Down && strings.HasPrefix(n.Reason, "muster: ")
	})
}

func TestDecide_reaches_rest(t *testing.T) {
	const worlds, rounds = 700, 900
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
	done, short, alive := map[string]bool{}, map[slurm.Resource]bool{}, map[string]bool{}
	for _, n := range w.Nodes {
		scarce := strings.Contains(n.Reason, "failed, capacity") || strings.Contains(n.Reason, "failed, limit")
		if n.State == fleet.Down && scarce && w.Now.Sub(n.ReasonTime) < w.Limits.Short {
			short[n.Resource] = true
		}
	}
	for _, i := range w.Instances {
		alive[i.Node] = true
	}
	for _, a := range actions {
		if a.Reason == "" || len(a.Nodes) == 0 || !slices.IsSorted(a.Nodes) {
			t.Errorf("%+v has no reason, no nodes or no order", a)
		}
		for _, name := range a.Nodes {
			n, known := state[name]
			switch {
			case done[string(a.Kind)+name]:
				t.Errorf("%s twice of %s", a.Kind, name)
			case a.Kind == fleet.Terminate && known && n.State == fleet.Up:
				t.Errorf("ends the instance of %+v, which is in use", n)
			case known && n.State == fleet.Asked:
				t.Errorf("%s of %+v, with which Slurm has not begun", a.Kind, n)
			case w.InFlight[name]:
				t.Errorf("%s of %+v, whose launch is under way", a.Kind, n)
			case known && a.Kind == fleet.Launch && (short[n.Resource] || halted(w, n)):
				t.Errorf("launch of %+v, whose resource has nothing or may not", n)
			case known && n.State == fleet.Up && n.Busy && alive[name] && a.Kind == fleet.SetDown && !hopeless(w, n):
				t.Errorf("the job on %+v would survive: %s", n, a.Reason)
			case known && n.State == fleet.Up && n.Busy && a.Kind == fleet.PowerDown && !done[string(fleet.SetDown)+name]:
				t.Errorf("power down of %+v, which has a job", n)
			case n.Closed && n.Reason == "bad fan" && (a.Kind == fleet.PowerUp || a.Kind == fleet.PowerDown):
				t.Errorf("%s of %+v, which somebody took out of service", a.Kind, n)
			}
			done[string(a.Kind)+name] = true
		}
	}
}

func halted(w fleet.World, n fleet.Node) bool {
	_, is := w.Halts[n.Resource]
	return is
}

// hopeless tells whether a job on a node is lost whatever is done, or is to end.
func hopeless(w fleet.World, n fleet.Node) bool {
	if w.Halts[n.Resource].Ending == fleet.AtOnce {
		return true
	}
	for _, i := range w.Instances {
		for _, d := range i.Health {
			due := (d.Code == "instance-retirement" || d.Code == "instance-stop") && !w.Now.Before(d.NotBefore)
			if i.Node == n.Name && (due || d.Code == "impaired" && n.Silent) {
				return true
			}
		}
	}
	return false
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
		case n.State == fleet.Up && n.Closed && n.Reason == "Duplicate jobid":
			t.Errorf("%+v takes no jobs though nobody had it so", n)
		case n.State == fleet.PoweredDown && n.Silent && !n.Closed:
			t.Errorf("%+v is off and gets no job", n)
		case n.Static && n.State != fleet.Up && !n.Closed && !halted(fleet.World{Halts: p.halts}, n):
			t.Errorf("%+v is static and not up", n)
		}
	}
}
