package keeper

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/slurm"
)

// reasonMark begins the reason of nodes that are drained; fleet replaces such nodes.
const reasonMark = "muster: "

// drain takes the nodes at fault out of service, unless they are already, or were replaced since, or nobody says so but
// the job.
func (k *Keeper) drain(ctx context.Context, r *record) error {
	a := r.Act
	if a.Drained || len(a.Faults) == 0 || r.Policy.NoDrain {
		return nil
	}
	for _, f := range a.Faults {
		nodes, err := k.nodesOf(ctx, f.Node)
		if err != nil {
			return err
		}
		if !f.Drain || len(nodes) != 1 || !inService(nodes[0]) || nodes[0].BootTime.After(a.Decided) {
			continue
		}
		if why := k.spared(ctx, r, f, nodes[0]); why != "" {
			k.Tell(Event{Job: r.ID, Kind: "drain", Nodes: []string{f.Node}, Reason: fmt.Sprintf("job %s: %s; it stays in service, since %s", r.Label, f.Reason, why),
				Hint: fmt.Sprintf("look at it, and if it is so: `scontrol update NodeName=%s State=DRAIN Reason=...`", f.Node)})
			continue
		}
		if err := k.Fates.UpdateNodes(ctx, []string{f.Node}, "DRAIN", fmt.Sprintf("%sjob %s: %s", reasonMark, r.Label, f.Reason)); err != nil {
			return fmt.Errorf("drain %s: %w", f.Node, err)
		}
		k.drains = append(k.drains, time.Now())
		k.Tell(Event{Job: r.ID, Kind: "drain", Nodes: []string{f.Node}, Reason: fmt.Sprintf("job %s: %s", r.Label, f.Reason)})
	}
	a.Drained = true
	return k.save(r)
}

// spared is why a node that is held to be at fault stays in service all the same, "" if it does not. What a job's log
// says, its user may have written: it takes a node from others only if he may do so himself, or if the job of another
// user says so, too.
func (k *Keeper) spared(ctx context.Context, r *record, f cause.Fault, n slurm.Node) string {
	if !f.Proven() {
		r.claim(n.Name)
		if !k.seconded(r, n) && !k.mayDrain(ctx, r) {
			return "nobody but the job says so"
		}
	}
	if !k.drainsLeft() {
		return fmt.Sprintf("jobs had %d nodes drained within an hour", len(k.drains))
	}
	return ""
}

// mayDrain says that the job's user may drain nodes himself. Where that cannot be asked, he may not.
func (k *Keeper) mayDrain(ctx context.Context, r *record) bool {
	if slices.Contains(k.Owners, r.UID) {
		return true
	}
	admin, err := k.Ledger.Administrator(ctx, r.User)
	if err != nil {
		k.Log.Warn("the accounting cannot say who may drain nodes", "user", r.User, "error", err)
	}
	return err == nil && admin
}

// claim is what a job alone has held against a node.
type claim struct {
	Node string    `json:"node"`
	At   time.Time `json:"at"`
}

// claimed is how long a claim waits for that of another user.
const claimed = 12 * time.Hour

// claim notes what the run that ended holds against a node, once.
func (r *record) claim(node string) {
	c := claim{Node: node, At: r.Act.Decided}
	r.Claims = slices.DeleteFunc(r.Claims, func(o claim) bool { return o.Node == node || c.At.Sub(o.At) > claimed })
	r.Claims = append(r.Claims, c)
}

// seconded says that the job of another user has held a fault against the node within some hours, and since it booted.
func (k *Keeper) seconded(r *record, n slurm.Node) bool {
	for o := range maps.Values(k.records) {
		if o.UID != r.UID && slices.ContainsFunc(o.Claims, func(c claim) bool {
			return c.Node == n.Name && c.At.After(n.BootTime) && r.Act.Decided.Sub(c.At).Abs() <= claimed
		}) {
			return true
		}
	}
	return false
}

// atFault are the nodes at fault.
func (a *act) atFault() []string {
	var all []string
	for _, f := range a.Faults {
		all = append(all, f.Node)
	}
	return all
}

// inService says that a node takes jobs.
func inService(n slurm.Node) bool {
	const out = slurm.FlagDrain | slurm.FlagPoweringDown | slurm.FlagPoweredDown | slurm.FlagPowerDownRequested
	return !n.State.Down() && n.State.Flags&out == 0
}

// leastDrains is how many nodes may be drained within an hour on any cluster; on a large one, a tenth
// of it may.
const leastDrains = 3

// drainsLeft says that another node may be drained. What is drained is replaced: no job takes a cluster away, whoever
// says what of its nodes.
func (k *Keeper) drainsLeft() bool {
	const part = 10
	k.drains = slices.DeleteFunc(k.drains, func(at time.Time) bool { return time.Since(at) > time.Hour })
	return len(k.drains) < max(leastDrains, len(k.nodes)/part)
}
