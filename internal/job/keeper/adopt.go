package keeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/slurm"
)

// adoption is a request between two rounds.
type adoption struct {
	job, caller int
	request     client.AdoptRequest
	reply       chan error
}

// Adopt keeps a job from now on, or changes what is wished for it. Only root and the job's owner
// may; others get client.ErrNotTheirs.
func (k *Keeper) Adopt(ctx context.Context, id, caller int, r client.AdoptRequest) error {
	a := adoption{id, caller, r, make(chan error, 1)}
	select {
	case k.adopts <- a:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-a.reply:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (k *Keeper) adopt(ctx context.Context, a adoption) error {
	j, err := k.Queue.Job(ctx, a.job)
	if err != nil && !errors.Is(err, slurm.ErrNoJob) {
		return err
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	switch {
	case err != nil:
		return fmt.Errorf("slurm knows no job %d; one that ended some minutes ago cannot be kept", a.job)
	case a.caller != 0 && a.caller != j.UID:
		return client.ErrNotTheirs
	case !j.Batch:
		return fmt.Errorf("job %s is no batch job: there is no script that could run again", j.Label())
	case j.Unsplit():
		return fmt.Errorf("job %s stands for several tasks that wait; adopt them when they run", j.Label())
	}
	before := policy.Default()
	r := k.records[a.job]
	if r != nil {
		before = r.Policy
	} else if script, err := k.Queue.BatchScript(ctx, a.job); err == nil {
		before = policy.Read(j.Label(), script).Policy
	}
	wishes, problems := before.With(a.request.Options)
	if err := problems.Err(); err != nil {
		return err
	}
	defer k.Wake()
	if r == nil {
		return k.begin(j, wishes, true)
	}
	r.remember()
	r.Policy, r.readers = wishes, nil
	return k.save(r)
}

func byID(jobs []slurm.Job) map[int]slurm.Job {
	all := make(map[int]slurm.Job, len(jobs))
	for _, j := range jobs {
		all[j.ID] = j
	}
	return all
}
