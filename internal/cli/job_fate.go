package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
)

// fates says what the head node's keeper makes of jobs whose runs have ended.
type fates slurm.Client

// of asks the keeper, and for a job that the keeper does not know, whether it will: what a script asks
// for is read some seconds after the job was submitted.
func (f fates) of(ctx context.Context, j slurm.Job) (job.Fate, error) {
	kept, err := client.In(services.RunDir).Job(ctx, j.ID)
	if kept == nil {
		script, unread := slurm.Client(f).BatchScript(ctx, j.ID)
		if unread != nil || !policy.Read(j.Label(), script).Asked {
			return job.Fate{}, nil
		}
	}
	if inner := errors.Unwrap(err); inner != nil {
		err = inner // without the socket's name
	}
	if err != nil {
		return job.Fate{}, fmt.Errorf("the head node does not say: %w", err)
	}
	return fateOf(kept, j)
}

// fateOf is what follows the end of a job's last run, by what is known of a job that asks to be kept.
func fateOf(k *client.JobReport, j slurm.Job) (job.Fate, error) {
	if k == nil {
		return job.Fate{}, errors.New("the head node has not noticed the job")
	}
	n := slices.IndexFunc(k.Rounds, func(r client.JobRound) bool { return r.Start.Equal(j.StartTime) })
	switch {
	case n < 0 && k.Phase != "ended":
		return job.Fate{Open: true}, nil
	case n < 0 && len(k.Rounds) == 0:
		return job.Fate{}, nil // it was left
	case n < 0:
		return job.Fate{}, errors.New("the head node has not noticed the job's last run")
	}
	r := k.Rounds[n]
	switch {
	case r.Action == "stop":
		return job.Fate{Text: r.Why + "; it is not started again: " + r.Because}, nil
	case r.Action != "here" && r.Action != "elsewhere":
		return job.Fate{}, nil
	case k.Counted == 0 || r.Class == "preempted" || r.Class == "requeued":
		return job.Fate{Again: true, Text: r.Why + "; it is started again"}, nil
	}
	return job.Fate{Again: true, Text: fmt.Sprintf("%s; it is started again (restart %d of %d)", r.Why, k.Counted, k.Allowed)}, nil
}
