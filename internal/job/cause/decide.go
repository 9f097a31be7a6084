package cause

import (
	"fmt"

	"github.com/muster-hpc/muster/internal/job/policy"
)

// noProgress is how many runs in a row may come no further.
const noProgress = 3

// decide says what to do, by what the class asks for, the job's policy and its runs before.
func (c *court) decide(f finding, faults []Fault) (Action, string) {
	class := f.class
	action, why := c.wanted(f)
	if action == Stop {
		return Stop, why
	}
	if len(faults) > 0 && action == Here {
		action, why = Elsewhere, "a node is at fault"
	}
	if class.Forced() {
		return action, why
	}
	if class == TimeLimit && len(faults) == 0 && !c.advanced() && !c.untold() {
		return Stop, "another run of that length would get no further: this one " + c.idly()
	}
	if n := c.restarts(); n >= c.Policy.Restarts {
		return Stop, spent(n, c.Policy.Restarts)
	}
	if !f.later && c.stuck() {
		return Stop, fmt.Sprintf("%d runs in a row %s", noProgress, c.idly())
	}
	if action == Elsewhere && len(faults) == 0 && class != Hung {
		return Here, "which node is at fault is not known"
	}
	if action == Elsewhere && len(faults) == 0 {
		return Here, why
	}
	return action, why
}

// wanted is what the finding, its class and the policy ask for.
func (c *court) wanted(f finding) (Action, string) {
	row := f.class.row()
	if f.action != "" {
		row.Action = f.action
	}
	switch f.class {
	case Completed:
		return Stop, "there is nothing left to do"
	case Cancelled:
		return Stop, "somebody wanted it to end"
	case NoRestart:
		return Stop, "its program wants it so"
	case Preempted, Requeued:
		return row.Action, "nothing of it failed"
	case Hung:
		return c.hangs()
	}
	if c.running() {
		return Stop, "it has not ended"
	}
	if c.Policy.OnFailure == policy.FailureStop {
		return Stop, "its --on-failure=stop wants it so"
	}
	if row.Action == Stop && c.Policy.OnFailure == policy.FailureRequeue {
		return Here, "its --on-failure=requeue wants it so"
	}
	if f.later {
		return row.Action, fmt.Sprintf("a service outside the cluster may answer in %d minutes", int(c.pause().Minutes()))
	}
	return row.Action, reasonFor(row)
}

// running says that Slurm does not know of an end, and that nobody is about to end it.
func (c *court) running() bool {
	if c.Hang != nil {
		return false
	}
	switch c.Run.State {
	case "PENDING", "RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING":
		return true
	}
	return false
}

// hangs is what follows a hang.
func (c *court) hangs() (Action, string) {
	switch c.Policy.OnHang {
	case policy.HangStop, policy.HangTell:
		return Stop, "its --on-hang=" + string(c.Policy.OnHang) + " wants it so"
	}
	return Elsewhere, "it may go on from its last checkpoint"
}

func reasonFor(r Row) string {
	switch r.Action {
	case Stop:
		return "it would end so again"
	case Elsewhere:
		return "the node failed, not the job"
	}
	return "it may not happen again"
}

// restarts counts how often the job was started again for a failure.
func (c *court) restarts() int {
	n, from := 0, c.stopped()
	if from == 0 {
		n = c.Forgotten.Restarts
	}
	for _, r := range c.Rounds[from:] {
		if r.Action != Stop && r.Action != "" && !r.Class.Forced() {
			n++
		}
	}
	return n
}

// stopped is how many runs there were until the last that we did not start again: if there are
// more, somebody else did, and counts anew.
func (c *court) stopped() int {
	for i := len(c.Rounds) - 1; i >= 0; i-- {
		if c.Rounds[i].Action == Stop {
			return i + 1
		}
	}
	return 0
}

// advanced says that this run has made a checkpoint that was not there before.
func (c *court) advanced() bool {
	before := c.forgotten()
	for _, r := range c.Rounds {
		before = max(before, r.Checkpoint)
	}
	return c.Checkpoint > before
}

// untold says that nobody knows how far a first run came: its log shows no step, and no checkpoint counts.
func (c *court) untold() bool {
	return c.BySteps && c.best() == NoCheckpoint && len(c.Rounds) == 0 && c.Forgotten.Runs == 0
}

// best is the furthest that any run came.
func (c *court) best() int64 {
	best := max(c.Checkpoint, c.forgotten())
	for _, r := range c.Rounds {
		best = max(best, r.Checkpoint)
	}
	return best
}

// idly is what runs did that came no further.
func (c *court) idly() string {
	switch best := c.best(); {
	case !c.BySteps:
		return "made no new checkpoint"
	case best == NoCheckpoint:
		return "showed no step"
	default:
		return fmt.Sprintf("came no further than step %d", best)
	}
}

// forgotten is the newest checkpoint of the runs that are no longer known one by one.
func (c *court) forgotten() int64 {
	if c.Forgotten.Runs == 0 {
		return NoCheckpoint
	}
	return c.Forgotten.Checkpoint
}

// stuck says that this run and those before it have made no new checkpoint in a row. Runs that
// had to make room, or wait for a service outside, count neither way.
func (c *court) stuck() bool {
	if c.advanced() {
		return false
	}
	idle := 1
	for i := len(c.Rounds) - 1; i >= c.stopped(); i-- {
		r := c.Rounds[i]
		if r.Class.Forced() || r.Waited {
			continue
		}
		best := c.forgotten()
		for _, o := range c.Rounds[:i] {
			best = max(best, o.Checkpoint)
		}
		if r.Checkpoint > best {
			break
		}
		idle++
	}
	return idle >= noProgress
}

// spent says that a job may not be started again. Its limit may have been lowered meanwhile.
func spent(times, limit int) string {
	switch {
	case limit == 0:
		return "--restarts=0 allows no other start"
	case times == 1:
		return "it was started again once, and --restarts=1 allows no more"
	}
	return fmt.Sprintf("it was started again %d times, and --restarts=%d allows no more", times, limit)
}
