package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// Target is a cluster whose accounts are to be as its muster.yaml says.
type Target struct {
	Slurm slurm.Client
	// Cluster is Slurm's name of it.
	Cluster  string
	Workload *spec.Workload
	// Owner must be able to run jobs: see Question.
	Owner string
	// Record is the file with what was done before.
	Record string
}

// Concerned tells whether there is anything to look at: where muster.yaml says nothing of accounts
// and never did, nobody asks slurmdbd.
func (t Target) Concerned() (bool, error) {
	before, err := Load(t.Record)
	return t.Workload.Accounted() || !before.Empty(), err
}

// Plan looks at what there is and decides what is to be done.
func (t Target) Plan(ctx context.Context) (Plan, error) {
	before, err := Load(t.Record)
	if err != nil {
		return Plan{}, err
	}
	have, err := t.look(ctx, before)
	if err != nil {
		return Plan{}, fmt.Errorf("look at Slurm's accounts: %w", err)
	}
	return Decide(Question{Cluster: t.Cluster, Workload: t.Workload, Owner: t.Owner, Have: have, Before: before}), nil
}

func (t Target) look(ctx context.Context, before Record) (h Have, err error) {
	if h.Associations, err = t.Slurm.Associations(ctx, t.Cluster); err != nil {
		return h, err
	}
	if h.QOS, err = t.Slurm.QOS(ctx); err != nil {
		return h, err
	}
	if h.Names, err = t.Slurm.AccountNames(ctx); err != nil {
		return h, err
	}
	if h.Others, err = t.others(ctx); err != nil {
		return h, err
	}
	if h.Defaults, err = t.Slurm.DefaultAccounts(ctx, t.Cluster); err != nil {
		return h, err
	}
	if !takesAway(want(t.Workload, t.Owner), before.settled(h).adopted(t.Cluster, h)) {
		return h, nil
	}
	h.Jobs, _, err = t.Slurm.Jobs(ctx)
	return h, err
}

// others are the associations of other clusters of the same slurmdbd.
func (t Target) others(ctx context.Context) ([]slurm.Association, error) {
	clusters, err := t.Slurm.Clusters(ctx)
	if err != nil || !slices.ContainsFunc(clusters, func(name string) bool { return name != t.Cluster }) {
		return nil, err
	}
	all, err := t.Slurm.Uses(ctx)
	return slices.DeleteFunc(all, func(a slurm.Association) bool { return a.Cluster == t.Cluster }), err
}

// registerWait is how long slurmctld may take to tell slurmdbd of its cluster.
const registerWait = 30 * time.Second

// registered waits until slurmdbd knows the cluster: before, it takes no account for it.
func (t Target) registered(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, registerWait, fmt.Errorf("slurmdbd does not know the cluster %s after %s", t.Cluster, registerWait))
	defer cancel()
	var last error
	for {
		names, err := t.Slurm.Clusters(ctx)
		if err == nil && slices.Contains(names, t.Cluster) {
			return nil
		}
		if err != nil && ctx.Err() == nil {
			last = err
		}
		if wait := pause.For(ctx, 200*time.Millisecond); wait != nil {
			return errors.Join(wait, last)
		}
	}
}

// Apply makes the accounts as the file says, and tells what it did. It may be cut off and called
// again: what it does it writes down before and after each change. If something stands against one of them, none is made.
func (t Target) Apply(ctx context.Context) (detail string, err error) {
	if concerned, err := t.Concerned(); err != nil || !concerned {
		return "", err
	}
	if err := t.registered(ctx); err != nil {
		return "", err
	}
	p, err := t.Plan(ctx)
	if err == nil {
		err = p.Conflicts.Err()
	}
	if err != nil {
		return "", err
	}
	for _, c := range p.Changes {
		if p.Record, err = t.do(ctx, c, p.Record); err != nil {
			return "", err
		}
	}
	return Words(t.Workload, p), nil
}

// do makes a change and returns the record of it.
func (t Target) do(ctx context.Context, c Change, r Record) (Record, error) {
	if err := r.Before(c).Save(t.Record); err != nil {
		return r, err
	}
	err := t.Slurm.Account(ctx, c.Args...)
	if err == nil {
		r = r.After(c)
		return r, r.Save(t.Record)
	}
	err = fmt.Errorf("%s%s: %w", c.At(), c.Text, err)
	if _, refused := errors.AsType[*slurm.ProgramError](err); refused && !errors.Is(err, slurm.ErrUnreachable) {
		err = errors.Join(err, r.Save(t.Record)) // what is there by that name is somebody else's
	}
	return r, err
}

// manyChanges are too many to name each.
const manyChanges = 12

// Words are what a plan does, in one line.
func Words(w *spec.Workload, p Plan) string {
	var parts []string
	switch {
	case len(p.Changes) == 0:
		parts = append(parts, fmt.Sprintf("%s and %s as the file says", count.Of(len(w.Accounts), "account"), qualities(len(w.QOS))))
	case len(p.Changes) > manyChanges:
		parts = append(parts, count.Of(len(p.Changes), "change"))
	default:
		for _, c := range p.Changes {
			parts = append(parts, c.Text)
		}
	}
	return strings.Join(append(parts, p.Kept...), "; ")
}

func qualities(n int) string { return fmt.Sprintf("%d QOS", n) }
