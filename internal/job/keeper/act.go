package keeper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/slurm"
)

// act is a decision on the way to be done. Each step looks whether it is done already, so that
// it may be repeated; those whose doing nobody could see are noted.
//
//	drain -> queue, held -> mend -> exclude -> release
//
// A run that Slurm has queued again by itself is not held by that. It is held where something has to be put right that the next
// run must not meet.
type act struct {
	// Restarts and Start are of the run that ended: the job of another run is not touched.
	Restarts int             `json:"restarts"`
	Start    time.Time       `json:"start"`
	Round    client.JobRound `json:"round"`
	Faults   []cause.Fault   `json:"faults,omitempty"`
	Decided  time.Time       `json:"decided"`
	// Requeued says that Slurm had queued the job again before it was judged, Alive that the
	// run hangs and has to be ended.
	Requeued bool `json:"requeued,omitempty"`
	Alive    bool `json:"alive,omitempty"`
	// Held says that a job that Slurm had queued again is held by us.
	Held    bool `json:"held,omitempty"`
	Drained bool `json:"drained,omitempty"`
	// Stuck says that it stops since none of its checkpoints can be used.
	Stuck   bool    `json:"stuck,omitempty"`
	Mending mending `json:"mending,omitzero"`
}

// carryOut does what was decided, up to the step that has to wait.
func (k *Keeper) carryOut(ctx context.Context, r *record) error {
	a := r.Act
	if r.job.State == "CANCELLED" && a.Round.Action != actionNone {
		return k.close(r, actionNone, "it was cancelled meanwhile")
	}
	switch a.Round.Action {
	case actionNone:
		return k.close(r, actionNone, "")
	case actionStop:
		return k.stop(ctx, r)
	}
	if err := k.drain(ctx, r); err != nil {
		return err
	}
	if done, err := k.queueAgain(ctx, r); !done || err != nil {
		return err
	}
	if goes, err := k.mend(ctx, r); err != nil {
		return err
	} else if !goes && a.Round.Action != actionStop {
		return nil // it is put right when it is held
	} else if !goes {
		return k.stop(ctx, r)
	}
	if done, err := k.exclude(ctx, r); !done || err != nil {
		return err
	}
	return k.release(ctx, r)
}

// hold keeps a job in the queue that Slurm has put there, where it may start at any moment. done says that it does not. Whoever
// held it before lets it go.
func (k *Keeper) hold(ctx context.Context, r *record) (done bool, err error) {
	a := r.Act
	if !a.Requeued || held(r.job) {
		return true, nil
	}
	a.Held = true
	if err := k.save(r); err != nil {
		return false, err
	}
	if err := k.Orders.Hold(ctx, r.Label); err != nil {
		return false, fmt.Errorf("hold it: %w", err) // it may have started: the next round sees it
	}
	k.Wake()
	return false, nil
}

// queueAgain puts the job into the queue, held. done says that it is there.
func (k *Keeper) queueAgain(ctx context.Context, r *record) (done bool, err error) {
	a, j := r.Act, r.job
	switch {
	case j.Restarts > a.Restarts && j.State == "PENDING":
		return true, nil
	case j.Restarts > a.Restarts && running(j):
		a.Requeued = true
		if m := a.Mending; len(m.Repairs) > 0 && !m.Done {
			k.tellCheckpoint(r, fmt.Sprintf("torn checkpoints stay, such as %s: Slurm started it again before they could be moved", m.Repairs[0].Path), "")
		}
		return false, k.close(r, a.Round.Action, "")
	case j.Restarts > a.Restarts:
		return false, nil // Slurm cleans up after its last run
	case !j.Ended() && !(a.Alive && running(j)):
		return false, nil
	case !j.Requeue:
		a.Round.Because = "it was submitted with --no-requeue, so that Slurm does not queue it again"
		return false, k.stop(ctx, r)
	}
	if err := k.Orders.RequeueHeld(ctx, r.Label); err != nil {
		if errors.Is(err, slurm.ErrNoJob) {
			return false, k.close(r, actionStop, "Slurm has forgotten it")
		}
		return false, fmt.Errorf("queue it again: %w", err)
	}
	k.Wake()
	return false, nil // what follows needs to see it there
}

// release lets the job go, at once or when it has waited long enough for a service outside the cluster.
func (k *Keeper) release(ctx context.Context, r *record) error {
	if held(r.job) && (r.Act.Held || !r.Act.Requeued) {
		after := time.Duration(r.Act.Round.WaitSeconds) * time.Second
		if err := k.Orders.ReleaseAt(ctx, r.Label, r.Act.Decided.Add(after)); err != nil {
			return fmt.Errorf("release it: %w", err)
		}
	}
	return k.close(r, r.Act.Round.Action, "")
}

// held says that a job waits for somebody to release it.
func held(j slurm.Job) bool {
	return j.State == "PENDING" && strings.Contains(strings.ToLower(j.Reason), "held")
}

// stop leaves a job that would fail again. One that hangs is ended, and one that Slurm has
// queued is held.
func (k *Keeper) stop(ctx context.Context, r *record) error {
	a, j := r.Act, r.job
	switch {
	case a.Alive && running(j) && j.Restarts == a.Restarts:
		if err := k.Fates.Cancel(ctx, r.Label); err != nil {
			return fmt.Errorf("end it: %w", err)
		}
	case j.State == "PENDING" && !held(j):
		if err := k.Orders.Hold(ctx, r.Label); err != nil {
			return fmt.Errorf("hold it: %w", err)
		}
	case !j.Ended() && j.State != "PENDING":
		return nil
	}
	return k.close(r, actionStop, "")
}

// close ends a decision: it is done, or something else was, because of something.
func (k *Keeper) close(r *record, action, because string) error {
	round := r.Act.Round
	round.Action, round.Because = action, cmp.Or(because, round.Because)
	goes := action == actionElsewhere || action == actionHere
	if goes {
		round.By = "muster"
	}
	if goes && r.Act.Requeued {
		round.By = "slurm"
	}
	r.over(round)
	at, waits := r.Act.atFault(), r.job.State == "PENDING"
	hint := stopHint(r, waits)
	if round.Hint != "" {
		hint = round.Hint + "; " + hint
	}
	if r.Act.Stuck {
		hint = stuckHint(r)
	}
	r.Act = nil
	if !goes && !waits {
		r.Ended = time.Now()
	}
	if err := k.save(r); err != nil {
		return err
	}
	k.Wake()
	switch {
	case goes:
		k.Tell(Event{Job: r.ID, Kind: "job goes on", Nodes: at, Reason: fmt.Sprintf("job %s is queued again%s: %s", r.Label, fromWhere(r), round.Because), Hint: round.Hint})
	case action == actionStop:
		k.Tell(Event{Job: r.ID, Kind: "job stopped", Nodes: at, Reason: fmt.Sprintf("job %s is not started again: %s", r.Label, round.Because), Hint: hint})
	}
	return nil
}

func stopHint(r *record, waits bool) string {
	if waits {
		return fmt.Sprintf("when the cause is mended, `scontrol release %d` lets it go", r.ID)
	}
	return fmt.Sprintf("when the cause is mended, `scontrol requeue %d` starts it again while Slurm knows it", r.ID)
}

// fromWhere says which checkpoint a job goes on from.
func fromWhere(r *record) string {
	if c, ok := r.newest(); ok {
		return fmt.Sprintf(" from %s", filepath.Base(c.Dir))
	}
	return ""
}
