package keeper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/slurm"
)

// scriptsAtOnce is how many scripts a round reads: after a start there may be very many jobs.
const scriptsAtOnce = 50

const (
	// scriptTries is how often a script is read that cannot be, triesApart how long after the first
	// time the second one is; each next one comes after twice as long, tryLatest at most.
	scriptTries = 8
	triesApart  = 5 * time.Second
	tryLatest   = 5 * time.Minute
)

// try is when something is tried again that went wrong so often.
type try struct {
	at   time.Time
	vain int
}

// later is the next try after one in vain.
func (t try) later(now time.Time) try {
	return try{at: now.Add(min(tryLatest, triesApart<<min(t.vain, scriptTries))), vain: t.vain + 1}
}

// find begins records of the jobs whose scripts ask for it. One that cannot be begun is tried again
// later, and is no other's trouble.
func (k *Keeper) find(ctx context.Context, jobs []slurm.Job, now time.Time) error {
	there := make(map[int]bool, len(jobs))
	read := 0
	var errs []error
	for _, j := range jobs {
		there[j.ID], there[arrayOf(j)] = true, true
		if k.records[j.ID] != nil || k.plain[arrayOf(j)] || !j.Batch || j.Unsplit() || now.Before(k.again[j.ID].at) {
			continue
		}
		if read++; read > scriptsAtOnce {
			continue
		}
		err := k.findOne(ctx, j)
		if err == nil {
			delete(k.again, j.ID)
			continue
		}
		errs = append(errs, err)
		if k.putOff(j, now, err); errors.Is(err, slurm.ErrUnreachable) {
			read = scriptsAtOnce // the others would wait for it, too
		}
	}
	gone := func(id int) bool { return !there[id] }
	maps.DeleteFunc(k.plain, func(id int, _ bool) bool { return gone(id) })
	maps.DeleteFunc(k.again, func(id int, _ try) bool { return gone(id) })
	return errors.Join(errs...)
}

// findOne begins the record of a job if its script asks for it.
func (k *Keeper) findOne(ctx context.Context, j slurm.Job) error {
	script, err := k.Queue.BatchScript(ctx, j.ID)
	if err != nil {
		return fmt.Errorf("read the script of job %d: %w", j.ID, err)
	}
	wishes := policy.Read(j.Label(), script)
	if !wishes.Asked {
		k.plain[arrayOf(j)] = true
		return nil
	}
	if err := k.begin(j, wishes.Policy, false); err != nil {
		return err
	}
	k.tellProblems(j, wishes.Problems.All())
	return nil
}

const (
	// mostProblems is how many problems of a script are told of one by one: events are for all jobs.
	mostProblems = 10
	// mostProblem is how much of a text of one is told, in characters.
	mostProblem = 300
)

// tellProblems tells of what is wrong with the options in a job's script.
func (k *Keeper) tellProblems(j slurm.Job, all []diag.Diagnostic) {
	tell := func(text, hint string) {
		k.Tell(Event{Job: j.ID, Kind: "job option", Reason: fmt.Sprintf("job %s: %s", j.Label(), text), Hint: hint})
	}
	for _, p := range all[:min(len(all), mostProblems)] {
		tell(shortened(p.Message), shortened(p.Hint))
	}
	if more := len(all) - mostProblems; more > 0 {
		tell(fmt.Sprintf("and %d more", more), "`muster check SCRIPT` says all that is wrong with its options")
	}
}

// shortened cuts a text that is too long for an event.
func shortened(text string) string {
	if r := []rune(text); len(r) > mostProblem {
		return string(r[:mostProblem]) + "..."
	}
	return text
}

// putOff has a job tried again later. One whose script cannot be read for long asks for nothing.
func (k *Keeper) putOff(j slurm.Job, now time.Time, why error) {
	t := k.again[j.ID].later(now)
	k.again[j.ID] = t
	if t.vain == scriptTries && !errors.Is(why, slurm.ErrUnreachable) {
		k.plain[j.ID] = true
		k.Tell(Event{Job: j.ID, Kind: "job left", Reason: fmt.Sprintf("job %s is not kept: %v", j.Label(), why),
			Hint: fmt.Sprintf("`muster job adopt %d` keeps it", j.ID)})
	}
}

// arrayOf is the number that a job has with all that were submitted with it.
func arrayOf(j slurm.Job) int {
	if j.ArrayJobID != 0 {
		return j.ArrayJobID
	}
	return j.ID
}

// begin keeps a job from now on.
func (k *Keeper) begin(j slurm.Job, p policy.Policy, adopted bool) error {
	r := &record{
		ID: j.ID, Label: j.Label(), Name: j.Name, User: j.User, UID: j.UID, GID: j.GID, WorkDir: j.WorkDir, Adopted: adopted,
		Since: time.Now(), Policy: p, Exclude: j.ExcNodeList,
	}
	if err := k.save(r); err != nil {
		return err
	}
	k.records[j.ID] = r
	k.Tell(Event{Job: j.ID, Kind: "job kept", Reason: fmt.Sprintf("job %s (%s) of %s is kept running%s", r.Label, r.Name, r.User, byWhom(adopted))})
	return nil
}

func byWhom(adopted bool) string {
	if adopted {
		return ", as `muster job adopt` asked"
	}
	return ", as its script asks"
}
