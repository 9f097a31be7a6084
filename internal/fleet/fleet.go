// Package fleet decides what happens to nodes: which are launched, ended, set
// down or returned to the pool, and why. It is pure: Decide is given what Slurm
// and the provider say and the time, and returns actions. Its law: when its
// actions are done and nothing else changes, the next call returns none; and it
// never ends an instance whose node is in use.
//
// Orders turns nodes that are to be launched into orders of whole jobs, and
// Settle decides what becomes of jobs that did not get all of their nodes.
// Requeues decides which jobs run again because their script failed when a node
// did.
package fleet

import (
	"time"

	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/slurm"
)

// Node is a node as Slurm sees it.
type Node struct {
	Name     string
	Resource slurm.Resource
	Static   bool
	State    State
	// Closed nodes are down or drained: they take no new job until they are resumed.
	// Reason is why, ReasonTime since when.
	Closed     bool
	Reason     string
	ReasonTime time.Time
	// Busy nodes have a job. Until is when the last of their jobs has to end; zero
	// is not known.
	Busy  bool
	Until time.Time
	// Stranded is since when the node has a job and is off, without a request to start it;
	// zero is never. A slurmctld that died leaves such nodes if it had saved the job's start
	// but not the node's.
	Stranded time.Time
	// Silent nodes do not answer Slurm.
	Silent bool
	// Address is where Slurm looks for the node: its name, unless it was told.
	Address string
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
	// not begun. It would ignore further changes to them now.
	Asked
	// PoweringUp nodes are wanted and have not registered yet.
	PoweringUp
	// PoweringDown and PoweredDown nodes should have no instance.
	PoweringDown
	PoweredDown
	// Down nodes were given up, by Slurm, by an administrator or by us.
	Down
)

// World is everything that Decide looks at.
type World struct {
	Now       time.Time
	Nodes     []Node
	Instances []provider.Instance
	// Resumed says of a node when Slurm asked for it, or was last seen to have it
	// powered down: an instance from before that is another power-up's.
	Resumed map[string]time.Time
	// InFlight are nodes whose launch is under way: nothing is done to them.
	InFlight map[string]bool
	// Pause says of a node that its launch is not tried again before then.
	Pause map[string]time.Time
	// BootFailed says of an instance, by its ID, why it will never be ready.
	BootFailed map[string]string
	// Told says of a node why we set it down after its launch failed. Slurm forgets
	// that at ResumeTimeout, which may come before it is time to try again.
	Told map[string]Told
	// Halts are the compute resources that start nothing now.
	Halts map[slurm.Resource]Halt
	// Forgive tries launches again that failed for a reason which only a person can mend:
	// a user says that it is mended.
	Forgive bool
	Limits  Limits
}

// Told is a reason that Slurm was told, and when.
type Told struct {
	Reason string
	At     time.Time
}

// startedGrain is how exactly a provider knows when an instance was started:
// EC2 counts in seconds.
const startedGrain = time.Second

// Limits are the waits of the provider in use. A zero switches the rule behind it off.
type Limits struct {
	// Boot is how long an instance may take until its node has registered.
	Boot time.Duration
	// BurnIn is how much longer it may take in a queue whose new nodes prove themselves first.
	BurnIn map[string]time.Duration
	// Retry is how long a node that could not be launched stays down.
	Retry time.Duration
	// Short is how long a compute resource that had no capacity is not asked again.
	// All its nodes are down meanwhile, so that Slurm takes another.
	Short time.Duration
	// Impaired is how long an instance may be impaired before it is replaced.
	Impaired time.Duration
	// Orphan is how old an instance without a node may become.
	Orphan time.Duration
	// Failures is how many boots of a queue may fail in a row before it is protected
	// from more.
	Failures int
	// Rates are what instances cost where they are paid for: few boots that fail in the
	// same way then protect a queue.
	Rates map[slurm.Resource]Rate
}

// ActionKind is a kind of action.
type ActionKind string

// Kinds of actions, in the order in which they are applied.
const (
	Terminate ActionKind = "terminate"  // end the instance
	Drain     ActionKind = "drain"      // let no new job start on the node
	SetDown   ActionKind = "set down"   // tell Slurm that the node is lost: its jobs are requeued
	PowerDown ActionKind = "power down" // return the node to the pool of those that may be resumed
	PowerUp   ActionKind = "power up"   // ask Slurm to resume the node
	Launch    ActionKind = "launch"     // start an instance
)

// Action is something that is done to some nodes.
type Action struct {
	Kind ActionKind
	// Nodes are those that it is done to. Terminate may name instances by their IDs.
	Nodes  []string
	Reason string
	// Boot says that the action follows from boots that failed.
	Boot bool
}

// Decide returns what has to be done now.
func Decide(w World) []Action {
	var d decision
	instances := d.assign(w)
	short := shortages(w)
	for _, n := range w.Nodes {
		if w.InFlight[n.Name] {
			continue
		}
		i, alive := instances[n.Name]
		d.node(w, n, i, alive, short[n.Resource])
	}
	return d.actions()
}

// assign finds each node's instance, and ends those that are no node's.
func (d *decision) assign(w World) map[string]provider.Instance {
	nodes := make(map[string]*Node, len(w.Nodes))
	for i := range w.Nodes {
		nodes[w.Nodes[i].Name] = &w.Nodes[i]
	}
	instances := make(map[string]provider.Instance, len(w.Instances))
	for _, i := range w.Instances {
		n := nodes[i.Node]
		if n == nil {
			d.orphan(w, i)
			continue
		}
		other, twice := instances[i.Node]
		if twice && other.ID != i.ID && !w.InFlight[i.Node] {
			keep, end := n.choose(other, i)
			d.add(Terminate, end.ID, "a second instance of "+i.Node)
			i = keep
		}
		instances[i.Node] = i
	}
	return instances
}

// orphan ends an instance that no node wants. One that is young may be another
// look's.
func (d *decision) orphan(w World, i provider.Instance) {
	switch {
	case w.Now.Sub(i.Started) < w.Limits.Orphan:
	case i.Node == "":
		d.add(Terminate, i.ID, "no node is known for it")
	default:
		d.add(Terminate, i.Node, "no longer in the cluster file")
	}
}

// choose picks the instance of two that is the node's: the one that Slurm speaks
// to, or the younger.
func (n *Node) choose(a, b provider.Instance) (keep, end provider.Instance) {
	switch {
	case a.Address.IsValid() && a.Address.String() == n.Address:
		return a, b
	case b.Address.IsValid() && b.Address.String() == n.Address:
		return b, a
	case a.Started.After(b.Started), a.Started.Equal(b.Started) && a.ID < b.ID:
		return a, b
	}
	return b, a
}
