package keeper

import (
	"cmp"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/job/errand"
)

// publish makes what is known to who asks.
func (k *Keeper) publish(now time.Time) {
	all := make(map[int]client.JobReport, len(k.records))
	for id, r := range k.records {
		all[id] = r.report(now)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reports = all
}

func sortReports(all []client.JobReport) {
	slices.SortStableFunc(all, func(a, b client.JobReport) int { return cmp.Compare(a.ID, b.ID) })
}

// report is what is known of a job. It shares nothing that changes.
func (r *record) report(now time.Time) client.JobReport {
	to := client.JobReport{
		ID: r.ID, Label: r.Label, Name: r.Name, User: r.User, UID: r.UID, Adopted: r.Adopted, State: r.job.State, Phase: r.phase(),
		Samples: slices.Clone(r.Samples), Rhythm: r.Rhythm.report(), Rounds: slices.Clone(r.Rounds), Blind: slices.Clone(r.deaf),
	}
	if len(r.Policy.Checkpoints) > 0 {
		to.Saved, to.SavedSince = slices.Clone(r.Saved), r.savedSince()
	}
	to.Restarts = r.Forgotten.Goes
	for _, round := range r.Rounds {
		if goesOn(round) {
			to.Restarts++
		}
	}
	to.Counted, to.Allowed = r.counted(), r.Policy.Restarts
	if limit, _ := r.limit(); limit > 0 {
		to.Rhythm.LimitSeconds = limit.Seconds()
	}
	if r.Run != nil {
		to.Start = r.Run.Start
		if h := r.Run.Hang; h != nil {
			to.Hang = h.report()
		}
		if s := r.Run.Slow; s != nil {
			to.Slow = s.report()
		}
		to.ExpectedEnd = r.expectedEnd()
	}
	if r.Curves.File.Size > 0 {
		to.Curves = r.Curves.Dir
	}
	if r.unseen != "" {
		to.Blind = append(to.Blind, r.unseen)
	}
	if why := r.Curves.blind; why != "" {
		to.Blind = append(to.Blind, "its curves are not written: "+why)
	}
	if best, ok := r.newest(); ok {
		c := checkpointOf(best)
		to.Checkpoint = &c
	}
	for _, c := range r.Checkpoints {
		if c.Torn != "" && (to.Checkpoint == nil || c.Step > to.Checkpoint.Step) {
			to.Torn = append(to.Torn, checkpointOf(c))
		}
	}
	return to
}

func (h *hang) report() *client.JobHang {
	return &client.JobHang{Since: h.Since, Why: h.Why, Ranks: slices.Clone(h.Ranks), Capture: h.Capture}
}

// phase is what the training is at.
func (r *record) phase() string {
	switch {
	case !r.active():
		return "ended"
	case r.Act != nil:
		return "returning"
	case r.Run == nil || !running(r.job):
		return "waiting"
	case r.Run.Hang != nil:
		return "silent"
	case r.Run.Last.IsZero():
		return "starting"
	}
	return "training"
}

// expectedEnd is when the last step comes at the usual speed of a step.
func (r *record) expectedEnd() time.Time {
	n := len(r.Samples)
	if n < 2 || r.Run.Last.IsZero() || r.Samples[n-1].Steps <= r.Samples[n-1].Step {
		return time.Time{}
	}
	last := r.Samples[n-1]
	for i := n - 2; i >= 0; i-- {
		first := r.Samples[i]
		if first.At.Before(r.Run.Start) || first.Step >= last.Step {
			break
		}
		if i == 0 || r.Samples[i-1].At.Before(r.Run.Start) || n-i > 60 {
			each := last.At.Sub(first.At) / time.Duration(last.Step-first.Step)
			return last.At.Add(each * time.Duration(last.Steps-last.Step))
		}
	}
	return time.Time{}
}

// newest is the newest whole checkpoint.
func (r *record) newest() (errand.Checkpoint, bool) {
	for _, c := range r.Checkpoints {
		if c.Whole {
			return c, true
		}
	}
	return errand.Checkpoint{}, false
}

func checkpointOf(c errand.Checkpoint) client.JobCheckpoint {
	return client.JobCheckpoint{Dir: c.Dir, Step: c.Step, Layout: c.Layout, SizeBytes: c.Bytes, At: c.Changed, Torn: c.Torn}
}

// newestStep is the step of the newest whole checkpoint, checkpoint.NoStep if there is none.
func (r *record) newestStep() int64 {
	if c, ok := r.newest(); ok {
		return c.Step
	}
	return checkpoint.NoStep
}
