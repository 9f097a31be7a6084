package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/spec"
)

// decision collects actions.
type decision struct {
	nodes map[what][]string
}

// what identifies an action: all of it but its nodes.
type what struct {
	kind   ActionKind
	reason string
	boot   bool
}

func (d *decision) node(w World, n Node, i provider.Instance, alive bool, short string) {
	halt, halted := w.Halts[n.Resource]
	switch n.State {
	case PoweredDown, PoweringDown:
		d.off(n, alive, halted, short)
	case PoweringUp:
		if halted && !alive || halt.Ending == AtOnce {
			d.lost(n, halt.Reason)
			return
		}
		d.starting(w, n, i, alive, short)
	case Down:
		d.down(w, n, alive, short)
	case Asked:
		if !n.Stranded.IsZero() && w.Now.Sub(n.Stranded) >= strandedFor {
			d.lost(n, "Slurm gave it to a job and does not start it")
		}
	case Up:
		if !alive {
			d.lost(n, strings.TrimPrefix(ReasonGone, reasonMark))
			return
		}
		d.up(w, n, i, halt)
	}
}

// strandedFor is longer than Slurm takes to ask for a node that it gave to a job.
const strandedFor = 30 * time.Second

// lost gives up a node, so that its jobs can go on elsewhere. A node that was drained by
// hand stays drained, with its reason.
func (d *decision) lost(n Node, reason string) {
	d.setDown(n, reasonMark+reason)
	if !n.held() {
		d.add(PowerDown, n.Name, reason)
	}
}

func (d *decision) setDown(n Node, reason string) {
	if n.held() {
		reason = n.Reason
	}
	d.add(SetDown, n.Name, reason)
}

// up looks at a node in service. A node that was taken out of service by hand is left
// alone.
func (d *decision) up(w World, n Node, i provider.Instance, halt Halt) {
	if n.held() {
		return
	}
	health := grade(w, n, i)
	switch {
	case health.verdict == verdictLost:
		d.lost(n, health.reason)
	case halt.Ending == AtOnce:
		d.lost(n, halt.Reason)
	case health.verdict == verdictDrain:
		d.leave(n, health.reason)
	case halt.Ending == AfterJobs:
		d.leave(n, halt.Reason)
	case halt.Ending == WhenIdle && !n.Busy:
		d.add(PowerDown, n.Name, halt.Reason)
	case n.Closed && strings.HasPrefix(n.Reason, reasonMark) && !n.Busy:
		d.add(PowerDown, n.Name, strings.TrimPrefix(n.Reason, reasonMark))
	case n.Closed && strings.HasPrefix(n.Reason, reasonTwice) && !n.Busy:
		d.add(PowerDown, n.Name, "it still had a job that Slurm had forgotten ("+reasonTwice+")")
	}
}

// leave lets a node's jobs end, but no new one begin, and then gives up its
// instance.
func (d *decision) leave(n Node, reason string) {
	if !n.Closed {
		d.add(Drain, n.Name, reasonMark+reason)
	}
	if !n.Busy {
		d.add(PowerDown, n.Name, reason)
	}
}

// off looks at a node that should have no instance. Slurm starts no job on a node that is
// marked as not responding. While the node is off, only powering it down clears the mark.
// https://github.com/SchedMD/slurm/blob/slurm-24-05-6-1/src/slurmctld/power_save.c#L618
func (d *decision) off(n Node, alive, halted bool, short string) {
	if alive {
		d.add(Terminate, n.Name, "powered down by Slurm")
	}
	switch {
	case n.State != PoweredDown || n.held():
	case short != "":
		d.setDown(n, short)
	case n.Static && !halted:
		d.add(PowerUp, n.Name, "static nodes are always on")
	case n.Silent:
		d.add(PowerDown, n.Name, "it is off, and Slurm gives it no job because it does not answer")
	}
}

func (d *decision) starting(w World, n Node, i provider.Instance, alive bool, short string) {
	asked, heard := w.Resumed[n.Name]
	if !alive {
		switch {
		case short != "":
			d.setDown(n, short)
		case !w.Now.Before(w.Pause[n.Name]):
			d.add(Launch, n.Name, "resumed by Slurm")
		}
		return
	}
	if heard && i.Started.Before(asked.Add(-startedGrain)) {
		d.add(Terminate, n.Name, "left over from before its resume")
		d.again(w, n, what{kind: Launch, reason: "resumed by Slurm"}, short)
		return
	}
	if reason := bootFailure(w, n, i); reason != "" {
		d.put(what{kind: Terminate, reason: reason, boot: true}, n.Name)
		d.again(w, n, what{kind: Launch, reason: reason, boot: true}, short)
	}
}

// bootFailure is why an instance will not get ready, empty if it may.
func bootFailure(w World, n Node, i provider.Instance) string {
	if reason := w.BootFailed[i.ID]; reason != "" {
		return reason
	}
	if reason := impaired(w, i); reason != "" {
		return reason
	}
	limit, words := w.Limits.Boot, ""
	if burnIn := w.Limits.BurnIn[n.Resource.Queue]; burnIn > 0 {
		limit, words = limit+burnIn+spec.BurnInEnds, ", its burn-in included"
	}
	if w.Now.Sub(i.Started) > limit {
		return fmt.Sprintf("no answer within %s of its start", limit) + words
	}
	return ""
}

// again launches a node whose instance was ended, if its resource may launch.
func (d *decision) again(w World, n Node, launch what, short string) {
	halt, halted := w.Halts[n.Resource]
	switch {
	case halted:
		d.lost(n, halt.Reason)
	case short != "":
		d.setDown(n, short)
	default:
		d.put(launch, n.Name)
	}
}

// down returns nodes to the pool that we or Slurm gave up. Nodes that an administrator set
// down are left alone.
func (d *decision) down(w World, n Node, alive bool, short string) {
	f, ours := w.failure(n)
	switch {
	case ours && w.Forgive:
		d.add(PowerDown, n.Name, "trying again: the fleet was started")
	case ours && !w.over(f):
		if n.Reason != f.reason {
			d.setDown(n, f.reason)
		}
		return
	case ours:
		d.add(PowerDown, n.Name, "trying again after a failed launch")
	case strings.HasPrefix(n.Reason, reasonShort):
		if short != "" && !w.Forgive {
			return
		}
		d.add(PowerDown, n.Name, "there may be capacity again")
	case strings.HasPrefix(n.Reason, reasonMark):
		d.add(PowerDown, n.Name, strings.TrimPrefix(n.Reason, reasonMark))
	case n.curable():
		d.add(PowerDown, n.Name, n.Reason)
	default:
		return
	}
	if alive {
		late := strings.HasPrefix(n.Reason, reasonLate)
		d.put(what{kind: Terminate, reason: "its node is down: " + n.Reason, boot: late}, n.Name)
	}
}

// held tells whether a node is out of service by a decision that is not ours.
func (n Node) held() bool {
	return n.Closed && n.Reason != "" && !strings.HasPrefix(n.Reason, reasonMark) && !n.curable()
}

// curable tells whether Slurm gave up the node for a reason that a new instance mends.
func (n Node) curable() bool {
	return slices.ContainsFunc(curable, func(c string) bool { return strings.HasPrefix(n.Reason, c) })
}

func (d *decision) add(kind ActionKind, node, reason string) {
	d.put(what{kind: kind, reason: reason}, node)
}

func (d *decision) put(k what, node string) {
	if d.nodes == nil {
		d.nodes = map[what][]string{}
	}
	d.nodes[k] = append(d.nodes[k], node)
}

// kinds are all, in the order in which they are applied.
var kinds = []ActionKind{Terminate, Drain, SetDown, PowerDown, PowerUp, Launch}

// actions lists the decision in the order in which it is to be applied.
func (d *decision) actions() []Action {
	var all []Action
	for k, nodes := range d.nodes {
		slices.Sort(nodes)
		all = append(all, Action{Kind: k.kind, Nodes: nodes, Reason: k.reason, Boot: k.boot})
	}
	slices.SortStableFunc(all, func(a, b Action) int {
		return cmp.Or(cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)), strings.Compare(a.Reason, b.Reason), strings.Compare(a.Nodes[0], b.Nodes[0]))
	})
	return all
}

// since tells whether something has lasted for a limit.
func since(now, began time.Time, limit time.Duration) bool {
	return limit > 0 && now.Sub(began) >= limit
}
