package keeper

import (
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job/errand"
)

// savedKept is of how many checkpoints it is known when they were written.
const savedKept = 500

// saved takes in which checkpoints are whole now: jobs delete old ones, and overwrite them. It says whether there is a new one.
func (r *record) saved(all []errand.Checkpoint) (news bool) {
	for _, c := range all {
		one := client.JobSaved{Step: c.Step, At: c.Changed}
		same := func(s client.JobSaved) bool { return s.Step == one.Step && s.At.Equal(one.At) }
		if c.Whole && !c.Changed.IsZero() && !slices.ContainsFunc(r.Saved, same) {
			r.Saved, news = append(r.Saved, one), true
		}
	}
	if !news {
		return false
	}
	slices.SortStableFunc(r.Saved, func(a, b client.JobSaved) int { return a.At.Compare(b.At) })
	if more := len(r.Saved) - savedKept; more > 0 {
		r.Saved = slices.Delete(r.Saved, 0, more)
		r.SavedSince = r.Saved[0].At
	}
	return true
}

// savedSince is from when on all checkpoints are known that the job had.
func (r *record) savedSince() time.Time { return later(r.Since, r.SavedSince) }
