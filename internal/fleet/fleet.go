// Package fleet decides what happens to nodes: which are launched, ended, set
// down or returned to the pool, and why. It is pure: Decide is given what Slurm
// and the provider say and the time, and returns actions. Its law: when its
// actions are done and nothing else changes, the next call returns none; and it
// never ends an instance whose node is in use. Requeues decides which jobs run
// again because their script failed when a node did.
package fleet

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Node is a node as Slurm sees it.
type Node struct {
	Name   string
	Static bool
	State  State
	// Closed nodes are down or drained: they take no new job until somebody says
	// so. Reason is why, ReasonTime since when.
	Closed     bool
	Reason     string
	ReasonTime time.Time
}

// State is the part of Slurm's node state that decides about instances.
//
//	PoweredDown -> Asked -> PoweringUp -> Up <-> Down
//	     ^________ PoweringDown <- Asked <-|______|
type State int

// States of a node.
const (
	// Up nodes have registered and should have an instance.
	Up State = iota
	// Asked nodes are about to be powered up or down: Slurm was asked to and has
	// not begun. What is done to them now, Slurm would not take note of.
	Asked
	// PoweringUp nodes are wanted and have not registered yet.
	PoweringUp
	// PoweringDown and PoweredDown nodes should have no instance.
	PoweringDown
	PoweredDown
	// Down nodes were given up, by Slurm, by an administrator or by us.
	Down
)

// Instance is a machine as the provider sees it.
type Instance struct {
	Node    string
	Started time.Time
}

// World is everything that Decide looks at.
type World struct {
	Now       time.Time
	Nodes     []Node
	Instances []Instance
	// Resumed says of a node when Slurm asked for it, or was last seen to have it
	// powered down: an instance from before that is another power-up's.
	Resumed map[string]time.Time
	Limits  Limits
}

// startedGrain is how exactly a provider knows when an instance was started:
// EC2 counts in seconds.
const startedGrain = time.Second

// Limits are the waits of the provider in use.
type Limits struct {
	// Boot is how long an instance may take until its node has registered.
	Boot time.Duration
	// Retry is how long a node that could not be launched stays down. It is less than
	// Slurm's ResumeTimeout, which runs on and ends the wait.
	Retry time.Duration
	// Short is how long a compute resource that had no capacity is not asked again.
	// All its nodes are down meanwhile, so that Slurm takes another.
	Short time.Duration
	// Impaired is how long an instance may be impaired before it is replaced.
	Impaired time.Duration
	// Orphan is how old an instance without a node may become.
	Orphan time.Duration
	// Failures is how many boots of a queue may fail in a row before it is protected
	// from more; zero is any number.
	Failures int
}

// Deed is what is to be done.
type Deed string

// Deeds, in the order in which they are applied.
const (
	Terminate Deed = "terminate"  // end the instance
	SetDown   Deed = "set down"   // tell Slurm that the node is lost: its jobs are requeued
	PowerDown Deed = "power down" // return the node to the pool of those that may be resumed
	PowerUp   Deed = "power up"   // ask Slurm to resume the node
	Launch    Deed = "launch"     // start an instance
)

// Action is one deed on some nodes.
type Action struct {
	Deed   Deed
	Nodes  []string
	Reason string
}

// The reasons that we give to Slurm begin with reasonMark, so that we know later
// which nodes are down because of us.
const reasonMark = "muster: "

// Reasons with which nodes are set down.
const (
	ReasonGone   = reasonMark + "the instance ended"
	ReasonLaunch = reasonMark + "launch failed"
)

// Slurm's own reasons for giving up a node, which a new instance cures.
var curable = []string{"Not responding", "ResumeTimeout reached", "Node unexpectedly rebooted"}

// Decide returns what has to be done now.
func Decide(w World) []Action {
	instances := make(map[string]Instance, len(w.Instances))
	for _, i := range w.Instances {
		instances[i.Node] = i
	}
	var d decision
	for _, n := range w.Nodes {
		i, alive := instances[n.Name]
		delete(instances, n.Name)
		d.node(w, n, i, alive)
	}
	for name := range instances {
		d.add(Terminate, name, "no longer in the cluster file")
	}
	return d.actions()
}

type decision struct {
	reasons map[Deed]map[string][]string // deed, reason, nodes
}

func (d *decision) node(w World, n Node, i Instance, alive bool) {
	switch n.State {
	case PoweredDown, PoweringDown:
		d.off(n, alive)
	case PoweringUp:
		d.starting(w, n, i, alive)
	case Down:
		d.down(w, n, alive)
	case Up:
		if !alive {
			d.gone(n)
		}
	}
}

// gone gives up a node that lost its instance, so that its jobs can go on
// elsewhere. One that was drained stays so, for the reason that it has.
func (d *decision) gone(n Node) {
	if n.held() {
		d.add(SetDown, n.Name, n.Reason)
		return
	}
	d.add(SetDown, n.Name, ReasonGone)
	d.add(PowerDown, n.Name, strings.TrimPrefix(ReasonGone, reasonMark))
}

// held tells whether a node is out of service by a decision that is not ours.
func (n Node) held() bool {
	return n.Closed && n.Reason != "" && !strings.HasPrefix(n.Reason, reasonMark) && !n.curable()
}

// curable tells whether Slurm gave up the node for what a new instance mends.
func (n Node) curable() bool {
	return slices.ContainsFunc(curable, func(c string) bool { return strings.HasPrefix(n.Reason, c) })
}

func (d *decision) off(n Node, alive bool) {
	if alive {
		d.add(Terminate, n.Name, "powered down by Slurm")
	}
	if n.Static && n.State == PoweredDown && !n.held() {
		d.add(PowerUp, n.Name, "static nodes are always on")
	}
}

func (d *decision) starting(w World, n Node, i Instance, alive bool) {
	asked, heard := w.Resumed[n.Name]
	switch {
	case !alive:
		d.add(Launch, n.Name, "resumed by Slurm")
	case heard && i.Started.Before(asked.Add(-startedGrain)):
		d.add(Terminate, n.Name, "left over from before its resume")
		d.add(Launch, n.Name, "resumed by Slurm")
	case w.Now.Sub(i.Started) > w.Limits.Boot:
		reason := fmt.Sprintf("no answer within %s of its start", w.Limits.Boot)
		d.add(Terminate, n.Name, reason)
		d.add(Launch, n.Name, reason)
	}
}

// down returns to the pool what we or Slurm gave up. What an administrator set
// down is his.
func (d *decision) down(w World, n Node, alive bool) {
	switch {
	case strings.HasPrefix(n.Reason, ReasonLaunch):
		if w.Now.Sub(n.ReasonTime) < w.Limits.Retry {
			return
		}
		d.add(PowerDown, n.Name, "trying again after a failed launch")
	case strings.HasPrefix(n.Reason, reasonMark):
		d.add(PowerDown, n.Name, strings.TrimPrefix(n.Reason, reasonMark))
	case n.curable():
		d.add(PowerDown, n.Name, n.Reason)
	default:
		return
	}
	if alive {
		d.add(Terminate, n.Name, "its node is down: "+n.Reason)
	}
}

func (d *decision) add(deed Deed, node, reason string) {
	if d.reasons == nil {
		d.reasons = map[Deed]map[string][]string{}
	}
	if d.reasons[deed] == nil {
		d.reasons[deed] = map[string][]string{}
	}
	d.reasons[deed][reason] = append(d.reasons[deed][reason], node)
}

// actions lists the decision in the order in which it is to be applied.
func (d *decision) actions() []Action {
	var all []Action
	for _, deed := range []Deed{Terminate, SetDown, PowerDown, PowerUp, Launch} {
		var some []Action
		for reason, nodes := range d.reasons[deed] {
			slices.Sort(nodes)
			some = append(some, Action{Deed: deed, Nodes: nodes, Reason: reason})
		}
		slices.SortFunc(some, func(a, b Action) int { return strings.Compare(a.Reason, b.Reason) })
		all = append(all, some...)
	}
	return all
}
