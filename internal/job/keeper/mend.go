package keeper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job/errand"
	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/sys/shell"
)

// mending is what is put right before a job goes on. It is decided once and written down, then
// done, so that what moved is told even if the keeper was killed in between.
//
//	diagnosed: what is to be done is written down -> done and told
type mending struct {
	Diagnosed bool            `json:"diagnosed,omitempty"`
	Ended     time.Time       `json:"ended,omitzero"`
	Repairs   []errand.Repair `json:"repairs,omitempty"`
	// Tries is how often it was tried in vain.
	Tries int  `json:"tries,omitempty"`
	Done  bool `json:"done,omitempty"`
}

// mostTries is how often it is tried to put checkpoints right, in files that do not answer.
const mostTries = 5

// endSlack is how much later than Slurm says a run may have written its last: Slurm leaves out the
// parts of seconds, and clocks differ by a little.
const endSlack = 2 * time.Second

// mend prepares the job's checkpoints for its next run. If they cannot be looked through, the job
// goes on all the same: programs look at what they load. If there are some and none is whole, it
// stops, and goes is false. It is false, too, while the job has to be held first.
func (k *Keeper) mend(ctx context.Context, r *record) (goes bool, err error) {
	m := &r.Act.Mending
	if m.Done || len(r.Policy.Checkpoints) == 0 {
		return true, nil
	}
	if !m.Diagnosed {
		if goes, err := k.diagnose(ctx, r); !goes || err != nil {
			return false, err
		}
	}
	done := m.Repairs
	if len(done) > 0 {
		if held, err := k.hold(ctx, r); !held || err != nil {
			return false, err
		}
		var d errand.Diagnosis
		d, err = k.Files.Mend(ctx, r.user(), errand.Mending{Repairs: m.Repairs, Ended: m.Ended})
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		done = d.Repairs
	}
	if m.Tries++; err != nil && m.Tries < mostTries {
		return false, errors.Join(fmt.Errorf("put its checkpoints right: %w", err), k.save(r))
	}
	if err != nil {
		done = unsure(m.Repairs, err)
	}
	for _, d := range done {
		k.tellRepair(r, d)
	}
	m.Done = true
	k.lookAtCheckpoints(ctx, r, time.Time{})
	return true, k.save(r)
}

// unsure are repairs of which nobody knows whether they were made.
func unsure(all []errand.Repair, err error) []errand.Repair {
	all = slices.Clone(all)
	for i := range all {
		all[i].Left = fmt.Sprintf("or it is %s now, which could not be found out: %v", all[i].Now, err)
	}
	return all
}

// diagnose decides what is to be done.
func (k *Keeper) diagnose(ctx context.Context, r *record) (goes bool, err error) {
	m := &r.Act.Mending
	if other := k.writer(r); other != nil {
		k.tellCheckpoint(r, fmt.Sprintf("torn checkpoints stay, since job %s may be writing one there", other.Label), "")
		m.Done = true
		return true, k.save(r)
	}
	m.Ended = k.lastEnd(ctx, r).Add(endSlack)
	d, err := k.Files.Mend(ctx, r.user(), errand.Mending{Dirs: r.checkpointDirs(), Ended: m.Ended, Shrunk: r.fewerNodesSince()})
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil {
		k.tellCheckpoint(r, fmt.Sprintf("its checkpoints cannot be looked through: %v", err), "")
	}
	for _, one := range d.Repairs {
		switch {
		case one.Left != "":
			k.tellRepair(r, one)
		case d.Stuck == "":
			m.Repairs = append(m.Repairs, one)
		}
	}
	m.Diagnosed = true
	if d.Stuck != "" && r.Policy.OnFailure == policy.FailureRequeue {
		k.tellCheckpoint(r, fmt.Sprintf("%s; it goes on all the same, as its --on-failure=requeue wants it so", d.Stuck), "")
	} else if d.Stuck != "" {
		r.Act.Round.Action, r.Act.Round.Because = actionStop, stuckText(d)
		r.Act.Stuck = true
		return false, k.save(r)
	}
	return true, k.save(r)
}

// lastEnd is when the last process of the run ended that is over: a program that is told to end may
// write for a while longer than Slurm calls its job running.
func (k *Keeper) lastEnd(ctx context.Context, r *record) time.Time {
	at := r.Act.Round.End
	rows, err := k.Ledger.Steps(ctx, r.ID, r.Act.Start)
	if err != nil {
		return at
	}
	var o outcome
	o.take(rows, r.Act.Start)
	at = later(at, o.own.End)
	for _, s := range o.steps {
		at = later(at, s.End)
	}
	return at
}

// stuckText says what is wrong with checkpoints of which none can be used.
func stuckText(d errand.Diagnosis) string {
	const most = 3
	var torn []string
	for _, one := range d.Repairs {
		if one.Aside() {
			torn = append(torn, fmt.Sprintf("%s: %s", filepath.Base(one.Path), one.Why))
		}
	}
	text := d.Stuck
	if len(torn) > 0 {
		text += " (" + strings.Join(torn[:min(len(torn), most)], "; ") + ")"
	}
	if more := len(torn) - most; more > 0 {
		text += fmt.Sprintf(", and so are %d more", more)
	}
	return text
}

// stuckHint is what to do then.
func stuckHint(r *record) string {
	return fmt.Sprintf("make one of them whole, or move all of them away for it to begin anew, and `scontrol release %d` lets it go; `muster job adopt %d --on-failure=requeue` has it go on with whatever there is", r.ID, r.ID)
}

// tellRepair tells of something that was put right, or left as it is, and how it is had back.
func (k *Keeper) tellRepair(r *record, d errand.Repair) {
	what := fmt.Sprintf("%s: %s", d.Path, d.Why)
	switch {
	case d.Left != "":
		k.tellCheckpoint(r, fmt.Sprintf("%s; it stays as it is: %s", what, d.Left), "")
	case d.Aside():
		k.tellCheckpoint(r, fmt.Sprintf("%s; now %s", what, d.Now), fmt.Sprintf("`%s` brings it back", shell.Line([]string{"mv", "-nT", d.Now, d.Path})))
		r.Act.Round.Aside = append(r.Act.Round.Aside, client.JobAside{Path: d.Path, Now: d.Now, Why: d.Why})
	default:
		k.tellCheckpoint(r, fmt.Sprintf("%s; now %s", what, d.Now), "")
	}
}

func (k *Keeper) tellCheckpoint(r *record, text, hint string) {
	k.Tell(Event{Job: r.ID, Kind: "job checkpoint", Reason: fmt.Sprintf("job %s: %s", r.Label, text), Hint: hint})
}

// writer is another job that runs and has its checkpoints where this one has them, nil if there is
// none: what it is writing would look torn.
func (k *Keeper) writer(r *record) *record {
	for _, id := range slices.Sorted(maps.Keys(k.records)) {
		o := k.records[id]
		if o == r || !o.active() || o.Run == nil {
			continue
		}
		for _, a := range r.checkpointDirs() {
			if slices.ContainsFunc(o.checkpointDirs(), func(b string) bool { return below(a, b) || below(b, a) }) {
				return o
			}
		}
	}
	return nil
}

// tellShared says, when a job first runs, that another one runs and has its checkpoints in the same directory.
func (k *Keeper) tellShared(r *record) {
	other := k.writer(r)
	if other == nil || len(r.Rounds) > 0 || sameArray(other.Label, r.Label) {
		return
	}
	k.tellCheckpoint(r, fmt.Sprintf("job %s runs, too, and has its checkpoints in the same directory", other.Label),
		"give each job a directory of its own: one may go on from the other's checkpoints, or remove them")
}

// sameArray says that two jobs are tasks of one array, which their program tells apart.
func sameArray(a, b string) bool {
	one, _, task := strings.Cut(a, "_")
	other, _, _ := strings.Cut(b, "_")
	return task && one == other
}

// below says that a directory is another one, or in it.
func below(dir, root string) bool {
	rel, err := filepath.Rel(root, dir)
	return err == nil && filepath.IsLocal(rel)
}

// checkpointDirs are the directories of the job's checkpoints.
func (r *record) checkpointDirs() []string {
	var all []string
	for _, dir := range r.Policy.Checkpoints {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(r.WorkDir, dir)
		}
		all = append(all, filepath.Clean(dir))
	}
	return all
}
