package keeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/muster-hpc/muster/internal/slurm"
)

// askedAlone is how many jobs a round asks for one by one that nobody keeps yet.
const askedAlone = 50

// known are Slurm's jobs, and which of them there are of which nothing is known: one user's words may hide the rows of others.
// These are asked for one by one, the kept ones first, then the newest.
func (k *Keeper) known(ctx context.Context) (jobs []slurm.Job, unclear map[int]bool, err error) {
	jobs, problems, err := k.Queue.Jobs(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("ask Slurm for its jobs: %w", err)
	}
	problems = slices.DeleteFunc(problems, func(p slurm.Problem) bool { return p.Job == 0 })
	unclear = map[int]bool{}
	for _, p := range problems {
		unclear[p.Job] = true
	}
	kept := k.keptOf(problems)
	slices.SortStableFunc(problems, func(a, b slurm.Problem) int {
		switch {
		case kept[a.Job] == kept[b.Job]:
			return cmp.Compare(b.Job, a.Job)
		case kept[a.Job]:
			return -1
		}
		return 1
	})
	for i, p := range problems {
		if i >= askedAlone && !kept[p.Job] {
			break
		}
		j, err := k.Queue.Job(ctx, p.Job)
		switch {
		case err == nil:
			jobs = append(jobs, j)
			delete(unclear, p.Job)
		case errors.Is(err, slurm.ErrNoJob):
			delete(unclear, p.Job)
		case ctx.Err() != nil:
			return nil, nil, context.Cause(ctx)
		}
	}
	return jobs, unclear, nil
}

// keptOf says which of the problems are of jobs that are kept.
func (k *Keeper) keptOf(problems []slurm.Problem) map[int]bool {
	k.lock.Lock()
	defer k.lock.Unlock()
	kept := map[int]bool{}
	for _, p := range problems {
		kept[p.Job] = k.records[p.Job] != nil && k.records[p.Job].active()
	}
	return kept
}
