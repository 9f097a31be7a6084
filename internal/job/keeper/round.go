package keeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/slurm"
)

// round looks at all kept jobs and does what follows, once. A job whose part fails stops no other.
func (k *Keeper) round(ctx context.Context) error {
	jobs, unclear, err := k.known(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	k.lock.Lock()
	defer k.lock.Unlock()
	errs := []error{k.find(ctx, jobs, now)}
	k.tellForsaken(jobs, now)
	k.nodes, k.unclear = nil, unclear
	k.wait(ctx, k.shifts(ctx, byID(jobs), now))
	if k.broken != nil {
		panic(k.broken)
	}
	k.turns++ // those that go on are late
	errs = append(errs, k.trouble())
	if now.Sub(k.saved) >= k.Pace.Save {
		errs = append(errs, k.saveAll())
		k.forget(now)
	}
	k.publish(now)
	return errors.Join(errs...)
}

// wait waits for what is done, for a while.
func (k *Keeper) wait(ctx context.Context, done <-chan struct{}) {
	k.lock.Unlock()
	defer k.lock.Lock()
	late := time.NewTimer(k.Pace.Patience)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	case <-ctx.Done():
	}
}

// again says that a job that had ended was put into the queue by hand. One that never ran before is
// another, which has its number: they begin anew where Slurm's state is lost.
func again(r *record, j slurm.Job) bool {
	if j.ID != r.ID || j.UID != r.UID || j.Ended() || len(r.Rounds) == 0 || j.Restarts == 0 {
		return false
	}
	r.Ended = time.Time{}
	return true
}

// keep does one round of one job.
func (k *Keeper) keep(ctx context.Context, r *record, there map[int]slurm.Job, now time.Time) error {
	j, known := there[r.ID]
	if known && j.UID != r.UID {
		return k.end(r, now, "its number is another job's now")
	}
	if !known && k.unclear[r.ID] {
		return nil // it is there, and nobody can say how it is
	}
	if !known {
		return k.gone(ctx, r, now)
	}
	if r.job = j; j.GID >= 0 {
		r.GID = j.GID // whatever the record says
	}
	if err := k.turn(ctx, r, now); err != nil {
		return err
	}
	if r.Act != nil {
		k.followLate(ctx, r)
		return k.carryOut(ctx, r)
	}
	if !r.active() || !running(j) {
		return k.readmit(ctx, r, now)
	}
	k.follow(ctx, r)
	k.lookAtCheckpoints(ctx, r, now)
	return k.watch(ctx, r, now)
}

// running says that a job has nodes and its script runs there.
func running(j slurm.Job) bool {
	return (j.State == "RUNNING" || j.State == "SUSPENDED") && !j.StartTime.IsZero()
}

// turn takes note of runs that begin and end.
func (k *Keeper) turn(ctx context.Context, r *record, now time.Time) error {
	j := r.job
	over := r.Run != nil && (j.Ended() || j.State == "PENDING" || j.Again || j.State == "REQUEUED" || running(j) && !r.Run.same(j))
	switch {
	case r.Act != nil:
		return nil // it ends first
	case over && j.State == "COMPLETING" && !j.Again:
		return nil
	case over:
		return k.judge(ctx, r, now)
	case r.Run != nil:
		if r.Run.Nodes != j.NodeList && running(j) {
			r.Run.Nodes, r.dirty = j.NodeList, true
		}
		return nil
	case j.Restarts > 0 && j.State == "PENDING" && len(r.Rounds) == 0:
		return k.missed(ctx, r, now)
	case running(j):
		r.Run = &run{Restarts: j.Restarts, Start: j.StartTime, Nodes: j.NodeList}
		k.tellShared(r)
		return k.save(r)
	case j.Ended() && !r.judged(j):
		r.Run = &run{Restarts: j.Restarts, Start: j.StartTime, Nodes: j.NodeList}
		return k.judge(ctx, r, now)
	case j.Ended():
		return k.end(r, now, "")
	}
	return nil
}

// missed is about a job that was queued again before it was first seen: its last run is judged as if
// it had been.
//
// The accounting may not answer yet, or lag behind: it is asked again for some minutes.
func (k *Keeper) missed(ctx context.Context, r *record, now time.Time) error {
	if r.asked || now.Before(r.asks.at) {
		return nil
	}
	rows, err := k.Ledger.Steps(ctx, r.ID, r.Since.Add(-longAgo))
	for _, s := range slices.Backward(rows) {
		if s.Name == "" && !s.Start.IsZero() && !s.End.IsZero() {
			r.asked = true
			r.Run = &run{Restarts: r.job.Restarts - 1, Start: s.Start, Nodes: s.NodeList}
			defer k.Wake()
			return k.save(r)
		}
	}
	r.asks = r.asks.later(now)
	if r.asked = r.asks.vain >= scriptTries; r.asked {
		why := "the accounting does not know it"
		if err != nil {
			why = fmt.Sprintf("the accounting cannot be asked: %v", err)
		}
		k.Tell(Event{Job: r.ID, Kind: "job run ended", Reason: fmt.Sprintf("how the run of job %s ended that was before it was kept is not known: %s", r.Label, why)})
	}
	if err != nil {
		return fmt.Errorf("ask for its runs: %w", err)
	}
	return nil
}

// longAgo is how far back a job's runs are looked for that is seen for the first time.
const longAgo = 24 * time.Hour

// judged says that the job's last run is among those that have ended.
func (r *record) judged(j slurm.Job) bool {
	return slices.ContainsFunc(r.Rounds, func(o client.JobRound) bool { return o.Start.Equal(j.StartTime) })
}

// end says that there is nothing to do for a job any more.
func (k *Keeper) end(r *record, now time.Time, why string) error {
	r.Ended, r.Run, r.Act = now, nil, nil
	if why != "" {
		k.Tell(Event{Job: r.ID, Kind: "job left", Reason: fmt.Sprintf("job %s is not kept any more: %s", r.Label, why)})
	}
	return k.save(r)
}

// gone is about a job that slurmctld has forgotten.
func (k *Keeper) gone(_ context.Context, r *record, now time.Time) error {
	if r.Run == nil && r.Act == nil {
		return k.end(r, now, "")
	}
	return k.end(r, now, "Slurm has forgotten it before it could be judged")
}
