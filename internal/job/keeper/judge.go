package keeper

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/slurm"
)

// bookkeeping is how long the accounting may lag behind.
const bookkeeping = 3 * time.Second

// judge finds out why a run ended and decides what follows.
func (k *Keeper) judge(ctx context.Context, r *record, now time.Time) error {
	k.follow(ctx, r) // what it wrote last
	k.lookAtCheckpoints(ctx, r, time.Time{})
	o, complete, err := k.outcome(ctx, r)
	if err != nil {
		return err
	}
	if r.Run.Over.IsZero() {
		r.Run.Over = now
	}
	if !complete && now.Sub(r.Run.Over) < bookkeeping {
		return nil // the next round knows more
	}
	k.finish(ctx, r)
	return k.decide(r, o, now)
}

// decide writes down what follows before anything is done, so that it is the same whenever the
// keeper is killed.
func (k *Keeper) decide(r *record, o outcome, now time.Time) error {
	v := cause.Judge(r.evidence(o))
	v.Faults = r.own(v.Faults)
	r.Act = &act{
		Restarts: r.Run.Restarts, Start: r.Run.Start, Round: r.roundOf(o, v), Faults: v.Faults, Decided: now,
		Requeued: o.hang == nil && !r.job.Ended(), Alive: o.hang != nil,
	}
	r.Run = nil
	if err := k.save(r); err != nil {
		return err
	}
	k.Wake()
	k.Tell(Event{Job: r.ID, Kind: "job run ended", Nodes: r.Act.atFault(), Reason: fmt.Sprintf("job %s %s", r.Label, v.Text)})
	return nil
}

// own are those of the run's own nodes. A log may name any node, and is its user's: of others it
// says nothing, also where a run that ended has no nodes.
func (r *record) own(all []cause.Fault) []cause.Fault {
	nodes := expand(r.Run.Nodes)
	return slices.DeleteFunc(all, func(f cause.Fault) bool { return !slices.Contains(nodes, f.Node) })
}

// outcome is what is known of how a run ended.
type outcome struct {
	state string
	exit  slurm.ExitCode
	end   time.Time
	own   slurm.Step // the run's own row of the accounting
	steps []slurm.Step
	nodes []slurm.Node // of the run, as they are now
	hang  *cause.Hang
	ras   *cause.Ranks
}

// outcome asks. complete says that the accounting knows how the run ended.
func (k *Keeper) outcome(ctx context.Context, r *record) (o outcome, complete bool, err error) {
	if r.job.Ended() {
		o.state, o.exit, o.end = r.job.State, r.job.ExitCode, r.job.EndTime
	}
	rows, blind := k.Ledger.Steps(ctx, r.ID, r.Run.Start)
	if blind != nil {
		k.Log.Warn("the accounting cannot say how a job ended", "job", r.Label, "error", blind)
	}
	complete = o.take(rows, r.Run.Start) || blind != nil && o.state != ""
	if o.nodes, err = k.nodesOf(ctx, r.Run.Nodes); err != nil {
		return o, false, err
	}
	if o.state == "" {
		o.state, o.end = "REQUEUED", time.Now()
		if slices.ContainsFunc(o.nodes, func(n slurm.Node) bool { return lost(n, r.Run.Start) }) {
			o.state, complete = "NODE_FAIL", true
		}
	}
	return o, complete, nil
}

// take takes in the rows of the run that began at a time, and tells whether they say its end. A run
// that went on with fewer nodes has a row for each set of nodes that it had, one behind the other.
func (o *outcome) take(rows []slurm.Step, start time.Time) (complete bool) {
	inRun, resized := false, time.Time{}
	for _, s := range rows {
		switch {
		case s.Name != "":
		case !s.Start.Equal(start) && (resized.IsZero() || !s.Start.Equal(resized)):
			inRun = false
		case s.State == "RESIZING":
			inRun, o.own, complete, resized = true, s, false, s.End
		default:
			inRun, o.own, complete, resized = true, s, !s.End.IsZero(), time.Time{}
			if complete && o.state == "" {
				o.state, o.exit, o.end = s.State, s.ExitCode, s.End
			}
		}
		if inRun && s.Name != "" {
			o.steps = append(o.steps, s)
		}
	}
	return complete
}

// nodesOf are the nodes of a host list, as Slurm sees them in this round.
func (k *Keeper) nodesOf(ctx context.Context, list string) ([]slurm.Node, error) {
	if k.nodes == nil {
		all, err := k.Queue.Nodes(ctx)
		if err != nil {
			return nil, fmt.Errorf("ask Slurm for its nodes: %w", err)
		}
		k.nodes = all
	}
	names, err := slurm.Expand(list)
	if err != nil {
		return nil, nil // Slurm's own list; nothing can be said of it
	}
	var mine []slurm.Node
	for _, n := range k.nodes {
		if slices.Contains(names, n.Name) {
			mine = append(mine, n)
		}
	}
	return mine, nil
}

// lookAtCheckpoints finds the job's checkpoints, unless it did a short while ago.
func (k *Keeper) lookAtCheckpoints(ctx context.Context, r *record, now time.Time) {
	pause := max(k.Pace.Checkpoints, spare*r.lookTook)
	if len(r.Policy.Checkpoints) == 0 || !now.IsZero() && now.Sub(r.looked) < pause {
		return
	}
	r.looked = time.Now()
	all, err := k.Files.Checkpoints(ctx, r.user(), r.checkpointDirs())
	r.lookTook, r.unseen = time.Since(r.looked), ""
	if err != nil {
		r.unseen = fmt.Sprintf("its checkpoints: %v", err)
		if len(all) == 0 {
			return // what was seen last may still be there
		}
	}
	if r.saved(all) {
		r.dirty = true
	}
	const most = 10
	all = all[:min(len(all), most)]
	if !slices.Equal(all, r.Checkpoints) {
		r.Checkpoints, r.dirty = all, true
	}
}
