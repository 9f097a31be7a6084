package keeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
)

// exclude keeps the job from the nodes at fault while there are enough others. done says that nothing of it is left to do.
func (k *Keeper) exclude(ctx context.Context, r *record) (done bool, err error) {
	if _, err := k.nodesOf(ctx, ""); err != nil {
		return false, err
	}
	r.exclude(k.nodes)
	want, has := union(expand(r.Exclude), r.Excluded), union(expand(r.job.ExcNodeList), nil)
	if slices.Equal(want, has) {
		return true, nil
	}
	if k.mayStartOn(slices.DeleteFunc(slices.Clone(want), func(name string) bool { return slices.Contains(has, name) })) {
		if done, err := k.hold(ctx, r); !done || err != nil {
			return false, err
		}
	}
	err = k.Fates.Exclude(ctx, r.Label, want)
	if err != nil && ctx.Err() != nil || errors.Is(err, slurm.ErrUnreachable) {
		return false, fmt.Errorf("exclude %s: %w", slurm.Compress(want), err)
	}
	if err != nil { // such as a job that asked for one of them by name: it is not held for that
		k.Tell(Event{Job: r.ID, Kind: "job goes on", Nodes: want, Reason: fmt.Sprintf("job %s may have nodes again that were at fault: %v", r.Label, err)})
	}
	return true, nil
}

// mayStartOn says that Slurm may start a job on one of some nodes now: it is neither down nor drained.
func (k *Keeper) mayStartOn(names []string) bool {
	return slices.ContainsFunc(k.nodes, func(n slurm.Node) bool {
		return slices.Contains(names, n.Name) && !n.State.Down() && !n.State.Draining()
	})
}

// exclude chooses the nodes that the next run does not get: those at fault now, and those that were
// before and have not booted since.
func (r *record) exclude(nodes []slurm.Node) {
	at := r.Act.Decided
	if end := r.Act.Round.End; !end.IsZero() && end.Before(at) {
		at = end
	}
	out := r.excludedStill(nodes)
	for _, name := range r.Act.atFault() {
		out[name] = at
	}
	r.Excluded, r.ExcludedAt = r.spared(nodes, out), out
}

// excludedStill are the excluded nodes that have not booted since, and since when they are. What has booted is another machine, or was mended.
func (r *record) excludedStill(nodes []slurm.Node) map[string]time.Time {
	still := map[string]time.Time{}
	for _, name := range r.Excluded {
		since := r.ExcludedAt[name]
		booted := func(n slurm.Node) bool { return n.Name == name && n.BootTime.After(since) }
		if !slices.ContainsFunc(nodes, booted) {
			still[name] = since
		}
	}
	return still
}

// spared are those of the nodes at fault, by when they were, that the job can do without.
func (r *record) spared(nodes []slurm.Node, out map[string]time.Time) []string {
	byTime := func(a, b string) int { return cmp.Or(out[a].Compare(out[b]), cmp.Compare(a, b)) }
	return exclusions(r.job, expand(r.Exclude), nodes, slices.SortedStableFunc(maps.Keys(out), byTime))
}

// exclusions are the nodes that a job can do without: as many of the last ones as leave it enough
// of its partition, besides those that its owner excludes and those that somebody has drained. The
// others are drained, and replaced before it gets them.
func exclusions(j slurm.Job, owners []string, nodes []slurm.Node, wanted []string) []string {
	others := 0
	for _, n := range nodes {
		usable := !n.State.Draining() || slices.Contains(wanted, n.Name)
		if usable && slices.Contains(n.Partitions, j.Partition) && !slices.Contains(owners, n.Name) {
			others++
		}
	}
	spare := max(0, others-j.NumNodes)
	return wanted[max(0, len(wanted)-spare):]
}

// readmit lets a job that waits have nodes again that it was kept from: those that have booted since, and those without which there
// are no longer enough, such as when others were drained.
func (k *Keeper) readmit(ctx context.Context, r *record, now time.Time) error {
	if len(r.Excluded) == 0 || r.job.State != "PENDING" || now.Sub(r.readmitted) < k.Pace.Checkpoints {
		return nil
	}
	r.readmitted = now
	if _, err := k.nodesOf(ctx, ""); err != nil {
		return err
	}
	still := r.excludedStill(k.nodes)
	left := r.spared(k.nodes, still)
	back := slices.DeleteFunc(slices.Clone(r.Excluded), func(name string) bool { return slices.Contains(left, name) })
	if len(back) == 0 {
		return nil
	}
	if err := k.Fates.Exclude(ctx, r.Label, union(expand(r.Exclude), left)); err != nil {
		return fmt.Errorf("let it have %s again: %w", slurm.Compress(back), err)
	}
	r.Excluded, r.ExcludedAt = left, still
	k.Tell(Event{Job: r.ID, Kind: "job goes on", Nodes: back, Reason: fmt.Sprintf("job %s waits, and may have nodes again that were at fault: they have booted since, or it has too few others", r.Label)})
	return k.save(r)
}

// union is a sorted list of what is in both, each once.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

func expand(list string) []string {
	names, err := slurm.Expand(list)
	if err != nil {
		return nil
	}
	return names
}
