package report

import (
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
)

// pause is what a training does between two steps: it saves a checkpoint, or evaluates, which is a part of training.
type pause struct {
	over  time.Time
	class Class
	step  int64
}

// pausesOf are those of a job of which it is known when they were over, in the order of time. Like its marks, what was over in
// the last second of a run, which accounting leaves out, was over when the run ended.
func pausesOf(j Job, runs []slurm.Held, now time.Time) (all []pause) {
	for _, s := range j.Saved {
		if !s.At.IsZero() {
			all = append(all, pause{over: s.At, class: Checkpoint, step: s.Step})
		}
	}
	for _, m := range j.Marks {
		if m.Eval {
			all = append(all, pause{over: m.At, class: Training})
		}
	}
	slices.SortStableFunc(all, func(a, b pause) int { return a.over.Compare(b.over) })
	for i, p := range all {
		for _, r := range runs {
			if during(p.over, r, now) {
				all[i].over = earlier(p.over, endOf(r, now))
			}
		}
	}
	return all
}

// during are the pauses that were over after one time, and not after another.
func (w *walk) during(from, to time.Time) []pause {
	first, _ := slices.BinarySearchFunc(w.pauses, from, func(p pause, t time.Time) int {
		if p.over.After(t) {
			return 1
		}
		return -1
	})
	all := w.pauses[first:]
	for i, p := range all {
		if p.over.After(to) {
			return all[:i]
		}
	}
	return all
}
