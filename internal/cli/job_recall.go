package cli

import (
	"context"
	"slices"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/slurm"
)

// recall is Slurm for one command, which remembers what it was told of a job's runs: the accounting takes a tenth of a
// second for each question. It is for one goroutine at a time.
type recall struct {
	slurm.Client
	asked []told
}

// told is an answer of the accounting.
type told struct {
	jobs []int
	runs []slurm.Run
	odd  []slurm.Problem
}

var _ job.Source = (*recall)(nil)

// History answers what was asked before with the same answer.
func (r *recall) History(ctx context.Context, w slurm.Window) ([]slurm.Run, []slurm.Problem, error) {
	for _, t := range r.asked {
		if len(w.Jobs) > 0 && slices.Equal(t.jobs, w.Jobs) {
			return slices.Clone(t.runs), t.odd, nil
		}
	}
	runs, odd, err := r.Client.History(ctx, w)
	if err == nil {
		r.asked = append(r.asked, told{w.Jobs, runs, odd})
	}
	return slices.Clone(runs), odd, err
}
