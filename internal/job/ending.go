package job

import (
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/slurm"
)

// Ending is how a job ended.
type Ending struct {
	// State is Slurm's word.
	State string
	// OK says that the job did what it was to do.
	OK bool
	// Text goes on from "the job": "failed with exit code 13".
	Text string
	// Hint is what to do next, if there is something.
	Hint string
}

// EndingOf tells how a job ended. The job must have ended.
func EndingOf(v View) Ending {
	e := Ending{State: v.Job.State, OK: v.Job.State == "COMPLETED"}
	e.Text, e.Hint = endingText(v)
	return e
}

// RunEnding tells how one run of a job ended, from the history.
func RunEnding(r slurm.Run) Ending {
	e := EndingOf(View{Job: slurm.Job{ID: r.ID, State: r.State, Reason: r.Reason, ExitCode: r.ExitCode, Requeue: true, Batch: true,
		NodeList: r.NodeList, StartTime: r.Start, EndTime: r.End}})
	switch {
	case r.State == "REQUEUED":
		e.Text = "was put back into the queue"
	case r.State == "RESIZING":
		e.Text = "went on with fewer nodes"
	case r.State == "CANCELLED" && r.CancelledBy != "":
		e.Text = "was cancelled by user " + r.CancelledBy
	case !r.Ended():
		e.Text = "has not ended"
	}
	return e
}

func endingText(v View) (text, hint string) {
	j := v.Job
	switch j.State {
	case "COMPLETED":
		return "completed", ""
	case "FAILED":
		return failure(j)
	case "CANCELLED":
		return "was cancelled", ""
	case "TIMEOUT":
		return "ran into its time limit" + limit(j), "ask for more time with #SBATCH --time=HH:MM:SS"
	case "DEADLINE":
		return "ran into its deadline", ""
	case "NODE_FAIL":
		return "ended because " + whoFailed(v.Lost), requeueHint(j)
	case "OUT_OF_MEMORY":
		return "ran out of memory", "ask for more memory with #SBATCH --mem=SIZE"
	case "BOOT_FAIL":
		return "could not start because its nodes did not come up", ""
	case "PREEMPTED":
		return "had to make room for another job", ""
	case "LAUNCH_FAILED":
		return "could not be started on its nodes", ""
	case "REVOKED":
		return "was taken over by another cluster", ""
	}
	return "ended as " + j.State, ""
}

func limit(j slurm.Job) string {
	if Limit(j) == 0 {
		return ""
	}
	return " of " + Span(Limit(j))
}

// Limit is the job's time limit, 0 if it has none: Slurm then takes a year.
func Limit(j slurm.Job) time.Duration {
	const year = 365 * 24 * time.Hour
	if j.TimeLimit >= year {
		return 0
	}
	return j.TimeLimit
}

func requeueHint(j slurm.Job) string {
	if j.Requeue {
		return ""
	}
	return "with #SBATCH --requeue Slurm would start it again"
}

// whoFailed names the nodes that failed, and why.
func whoFailed(lost []Lost) string {
	switch len(lost) {
	case 0:
		return "a node failed"
	case 1:
		return "node " + lost[0].Node + " failed" + because(lost[0].Reason)
	}
	names := make([]string, len(lost))
	for i, l := range lost {
		names[i] = l.Node
	}
	return "nodes " + slurm.Compress(names) + " failed" + because(lost[0].Reason)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// launchSignal is the signal in the exit code of a batch script that was never
// started: slurmstepd could not enter its directory or open its output file.
const launchSignal = 53

// shellSignal is what shells add to the signal that ended a program.
const shellSignal = 128

func failure(j slurm.Job) (text, hint string) {
	signal, code := j.ExitCode.Signal, j.ExitCode.Code
	switch {
	case j.Refused():
		return refused(j), ""
	case signal == launchSignal:
		return cannotLaunch(j)
	case signal == int(unix.SIGHUP) && !j.Batch:
		// Or it is the status 1 with which srun gives nodes back on which it could not
		// start anything: Slurm writes both down alike.
		return "failed: srun could not start its tasks, or signal 1 (SIGHUP) ended them", ""
	case signal != 0:
		return "was ended by signal " + signalName(signal), ""
	case code > shellSignal && unix.SignalName(unix.Signal(code-shellSignal)) != "":
		return fmt.Sprintf("failed with exit code %d, which stands for signal %s", code, signalName(code-shellSignal)), ""
	case code == 0:
		return "failed" + because(strings.ReplaceAll(j.Reason, "_", " ")), ""
	}
	return fmt.Sprintf("failed with exit code %d", code), ""
}

func refused(j slurm.Job) string {
	if j.Reason == "BadConstraints" {
		return "was refused by Slurm: no node has what it asks for"
	}
	return "was refused by Slurm" + because(strings.ReplaceAll(j.Reason, "_", " "))
}

func cannotLaunch(j slurm.Job) (text, hint string) {
	text = "could not be started: Slurm could not open its output file or enter its working directory"
	if j.StdOut == "" {
		return text, ""
	}
	return text, fmt.Sprintf("do the folder of %s and %s exist on every node, and may %s write there?", j.StdOut, j.WorkDir, j.User)
}

func signalName(n int) string {
	if name := unix.SignalName(unix.Signal(n)); name != "" {
		return fmt.Sprintf("%d (%s)", n, name)
	}
	return fmt.Sprint(n)
}
