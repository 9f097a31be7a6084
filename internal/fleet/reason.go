package fleet

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/slurm"
)

// The reasons that we give to Slurm begin with reasonMark, so that we know later
// which nodes are down or drained because of us. They are the memory of what
// failed: it outlives the controller.
const reasonMark = "muster: "

// Ours tells whether a node's reason is one that we gave to Slurm.
func Ours(reason string) bool { return strings.HasPrefix(reason, reasonMark) }

// Reasons with which nodes are set down.
const (
	ReasonGone   = reasonMark + "the instance ended"
	ReasonLaunch = reasonMark + "launch failed"
	// reasonShort is of nodes that are down because others of their compute resource
	// had no capacity.
	reasonShort = reasonMark + "no capacity"
)

// Slurm's own reasons for giving up a node, which a new instance cures: reasonLate
// is of one that did not register in time.
const reasonLate = "ResumeTimeout reached"

// reasonTwice is of a node that slurmctld drained because it still had a job that was to
// begin there: its start was forgotten when slurmctld died. Parts of the job may still
// run; they end with the instance.
// https://github.com/SchedMD/slurm/blob/slurm-22-05-8-1/src/slurmctld/agent.c#L808
const reasonTwice = "Duplicate jobid"

var curable = []string{"Not responding", reasonLate, "Node unexpectedly rebooted", reasonTwice}

// LaunchReason is the reason of a node that could not be launched: why, with the
// class of the cause where it is known.
//
//	muster: launch failed, capacity: (Code:InsufficientInstanceCapacity) We currently do not ...
//
// A node that failed only because others of its job did gets another reason, and goes
// back to the pool at once.
func LaunchReason(err error) string {
	text := strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), `"`, "'")), " ") // as Slurm keeps it
	if errors.Is(err, provider.ErrIncomplete) {
		return reasonMark + text
	}
	if cause := CauseOf(err); cause != provider.Unknown {
		return ReasonLaunch + ", " + string(cause) + ": " + text
	}
	return ReasonLaunch + ": " + text
}

// ReasonIncomplete is the reason of nodes that were given up because others of
// their job got no instance.
func ReasonIncomplete(job int) string {
	return fmt.Sprintf("%sjob %d did not get all of its nodes", reasonMark, job)
}

// reasonKernel begins the reason of a node that drained itself for what its own kernel said.
const reasonKernel = reasonMark + "kernel: "

// KernelReason is the reason of a node whose kernel says that its machine is at fault, by the line that says so.
func KernelReason(line string) string {
	const most = 200
	text := strings.ReplaceAll(line, `"`, "'") // as Slurm keeps it
	return reasonKernel + text[:min(len(text), most)]
}

// KernelLine is the line that such a reason has.
func KernelLine(reason string) (line string, ok bool) { return strings.CutPrefix(reason, reasonKernel) }

// CauseOf is the class of why a launch failed.
func CauseOf(err error) provider.Cause {
	if e, ok := errors.AsType[*provider.LaunchError](err); ok && e.Cause != "" {
		return e.Cause
	}
	return provider.Unknown
}

// Hint is what a user can do about a cause, empty if waiting is all.
func Hint(c provider.Cause) string {
	switch c {
	case provider.Limit:
		return "ask AWS for a higher quota of these instances, or lower MaxCount"
	case provider.Permission:
		return "give the head node's role the right, then `muster fleet start`"
	case provider.Configuration:
		return "mend the cluster file and run `muster up`, or, if the mistake was elsewhere, `muster fleet start`"
	}
	return ""
}

// causes are those that a reason names.
var causes = []provider.Cause{provider.Capacity, provider.Limit, provider.Throttled, provider.Configuration, provider.Permission}

// cause is a class of reasons, with what follows from it.
type cause provider.Cause

// launchCause reads a reason that LaunchReason wrote.
func launchCause(reason string) (c cause, ours bool) {
	rest, ok := strings.CutPrefix(reason, ReasonLaunch)
	if !ok {
		return "", false
	}
	for _, c := range causes {
		if strings.HasPrefix(rest, ", "+string(c)+": ") {
			return cause(c), true
		}
	}
	return cause(provider.Unknown), true
}

// lasting causes stay until a person mends them.
func (c cause) lasting() bool {
	return c == cause(provider.Configuration) || c == cause(provider.Permission)
}

// scarce causes concern the whole compute resource.
func (c cause) scarce() bool { return c == cause(provider.Capacity) || c == cause(provider.Limit) }

// memory is how long a node that could not be launched stays down.
func (l Limits) memory(c cause) time.Duration {
	if c.scarce() {
		return max(l.Retry, l.Short)
	}
	return l.Retry
}

// failure is a launch that failed.
type failure struct {
	cause  cause
	reason string
	at     time.Time
}

// failure is why a node that is down could not be launched, if that is why.
func (w World) failure(n Node) (failure, bool) {
	f := failure{reason: n.Reason, at: n.ReasonTime}
	if told, ok := w.Told[n.Name]; ok && (n.Reason == told.Reason || n.curable()) {
		f = failure{reason: told.Reason, at: told.At}
	}
	var ours bool
	f.cause, ours = launchCause(f.reason)
	return f, ours && n.State == Down
}

// over tells whether a launch may be tried again.
func (w World) over(f failure) bool {
	return !f.cause.lasting() && w.Now.Sub(f.at) >= w.Limits.memory(f.cause)
}

// shortages are the compute resources of which nothing is launched now, as one of their
// nodes found no capacity a short while ago, with the reason.
func shortages(w World) map[slurm.Resource]string {
	if w.Limits.Short <= 0 || w.Forgive {
		return nil
	}
	short := map[slurm.Resource]string{}
	latest := map[slurm.Resource]time.Time{}
	for _, n := range w.Nodes {
		f, ours := w.failure(n)
		if !ours || !f.cause.scarce() || w.over(f) {
			continue
		}
		_, text, _ := strings.Cut(strings.TrimPrefix(f.reason, reasonMark), ": ")
		text = reasonShort + " in " + n.Resource.String() + ": " + text
		if at, ok := latest[n.Resource]; !ok || f.at.After(at) || f.at.Equal(at) && text < short[n.Resource] {
			latest[n.Resource], short[n.Resource] = f.at, text
		}
	}
	return short
}
