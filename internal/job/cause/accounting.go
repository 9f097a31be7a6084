package cause

import (
	"fmt"
	"slices"
	"strings"
)

// Exit codes and signals that mean something to Slurm, to shells or to us.
const (
	// noRestart is what NVIDIA's resiliency extension takes for "do not start this again".
	noRestart = 93
	// launchSignal is that of a batch script whose directory or output slurmstepd could not open.
	launchSignal = 53
	// memorySignal is what Slurm writes down for what the kernel killed for want of memory
	// (SIG_OOM in Slurm's slurm_protocol_defs.h).
	memorySignal = 125
	// shellSignal is what shells add to the signal that ended a program.
	shellSignal = 128
	cannotRun   = 126
	notFound    = 127
	lastSignal  = 64
	sigterm     = 15
)

// accounting looks at what Slurm has written down.
func (c *court) accounting() {
	c.state()
	for _, s := range c.Run.Steps {
		if s.State == "OUT_OF_MEMORY" {
			c.add(finding{class: HostMemory, detail: "the kernel ended " + stepName(s), place: "accounting: step " + s.Name + " State=" + s.State})
		}
		// The batch script's step has the run's state, on whichever node it was.
		if s.State == "NODE_FAIL" && !s.script() && len(s.Nodes) == 1 && c.Run.State == "NODE_FAIL" {
			c.lost(s.Nodes[0], "", "accounting: step "+s.Name+" State="+s.State)
		}
	}
	c.exits()
}

// state looks at the run's own state.
func (c *court) state() {
	r := c.Run
	place := "accounting: State=" + r.State
	switch r.State {
	case "COMPLETED":
		c.completed(place)
	case "CANCELLED":
		if c.Hang != nil {
			return // that was us
		}
		c.add(finding{class: Cancelled, detail: by(r.CancelledBy), text: "Slurm was told to cancel it", place: place})
	case "PREEMPTED":
		c.add(finding{class: Preempted, text: "Slurm took its nodes for another job", place: place})
	case "TIMEOUT":
		c.add(finding{class: TimeLimit, text: "Slurm ended it at its time limit", place: place})
	case "DEADLINE":
		c.add(finding{class: Deadline, text: "Slurm ended it at its deadline", place: place})
	case "NODE_FAIL":
		switch {
		case r.FailedNode != "":
			c.lost(r.FailedNode, "", "accounting: FailedNode="+r.FailedNode)
		case len(r.Nodes) == 1:
			c.lost(r.Nodes[0], "", place)
		}
		c.add(finding{class: NodeLost, text: "Slurm lost a node of it", place: place})
	case "BOOT_FAIL":
		c.add(finding{class: BootFailed, text: "Slurm waited for its nodes in vain", place: place})
	case "LAUNCH_FAILED", "RECONFIG_FAIL":
		c.add(finding{class: LaunchFailed, text: "Slurm could not launch it", place: place})
	case "OUT_OF_MEMORY":
		c.add(finding{class: HostMemory, text: "the kernel ended a process of it for want of memory", place: place})
	case "REQUEUED":
		if c.Hang != nil {
			return
		}
		c.add(finding{class: Requeued, text: "Slurm was told to queue it again", place: place})
	}
	// Slurm 22.05 gives the same reason to a job whose script a signal ended (job_complete in src/slurmctld/job_mgr.c).
	if r.State == "FAILED" && r.Reason == "JobLaunchFailure" && (r.Exit.Signal == 0 || r.Exit.Signal == launchSignal) {
		c.add(finding{class: LaunchFailed, text: "Slurm could not launch it", place: "accounting: Reason=" + r.Reason})
	}
}

// completed is a run of which Slurm says that it did. A step that failed is worth a word. The job's own DerivedExitCode may
// be of a run before: Slurm keeps the highest.
func (c *court) completed(place string) {
	f := finding{class: Completed, text: "Slurm says that it completed", place: place}
	code := 0
	for _, s := range c.Run.Steps {
		if !s.script() {
			code = max(code, s.Exit.Code)
		}
	}
	if code != 0 {
		f.detail = fmt.Sprintf("a step of it failed with exit code %d, and its script did not say so", code)
	}
	c.add(f)
}

func by(uid string) string {
	if uid == "" {
		return ""
	}
	return "by user " + uid
}

func stepName(s Step) string {
	if s.Name == "batch" {
		return "the batch script"
	}
	return "step " + s.Name
}

// placedExit is an exit with its place.
type placedExit struct {
	Exit
	what, place string
}

// exits looks at exit codes, those of steps first: the batch script's only hands theirs on.
func (c *court) exits() {
	all := c.allExits()
	for _, x := range all {
		if x.Code == noRestart {
			c.add(finding{class: NoRestart, detail: fmt.Sprintf("%s ended with exit code %d", x.what, noRestart), place: x.place})
		}
		if x.Signal == memorySignal {
			c.add(finding{class: HostMemory, detail: "the kernel ended " + x.what, place: x.place})
		}
	}
	if c.Run.State != "FAILED" {
		return // the state says more than what a run ends with that Slurm ended
	}
	for _, x := range all {
		if x.Code == 0 && x.Signal == 0 {
			continue
		}
		c.add(exited(x))
	}
	if !slices.ContainsFunc(all, func(x placedExit) bool { return x.Code != 0 || x.Signal != 0 }) {
		c.add(finding{class: Unknown, text: "Slurm says that it failed", place: "accounting: State=FAILED", weak: true})
	}
}

func (c *court) allExits() []placedExit {
	var all, scripts []placedExit
	for _, s := range c.Run.Steps {
		x := placedExit{s.Exit, stepName(s), fmt.Sprintf("accounting: step %s ExitCode=%d:%d", s.Name, s.Exit.Code, s.Exit.Signal)}
		if s.script() {
			scripts = append(scripts, x)
		} else {
			all = append(all, x)
		}
	}
	r := c.Run
	if len(all) == 0 { // else it may be of the run before: Slurm keeps it when a job is queued again
		all = append(all, placedExit{r.Derived, "a step", fmt.Sprintf("accounting: DerivedExitCode=%d:%d", r.Derived.Code, r.Derived.Signal)})
	}
	all = append(all, scripts...)
	return append(all, placedExit{r.Exit, "the script", fmt.Sprintf("accounting: ExitCode=%d:%d", r.Exit.Code, r.Exit.Signal)})
}

// exited is what one exit code or signal says by itself.
func exited(x placedExit) finding {
	signal := x.Signal
	if x.Code > shellSignal && x.Code <= shellSignal+lastSignal {
		signal = x.Code - shellSignal
	}
	switch {
	case x.Signal == launchSignal:
		return finding{class: CannotStart, detail: "Slurm could not open its output or enter its directory", place: x.place, weak: true}
	case signal > 0 && signal <= lastSignal:
		f := signalled(signal)
		f.text, f.place = fmt.Sprintf("%s was ended by %s", x.what, signalName(signal)), x.place
		return f
	case x.Code == cannotRun || x.Code == notFound:
		word := map[int]string{cannotRun: "a program that cannot be run", notFound: "a program that is not there"}[x.Code]
		return finding{class: CannotStart, detail: fmt.Sprintf("its script calls %s (exit code %d)", word, x.Code), place: x.place, weak: true}
	}
	return finding{class: Unknown, detail: exitText(x), place: x.place, weak: true}
}

func exitText(x placedExit) string {
	if x.Code != 0 {
		return fmt.Sprintf("%s ended with exit code %d", x.what, x.Code)
	}
	return fmt.Sprintf("%s ended with Slurm's code %d", x.what, x.Signal)
}

// signalled is what a signal says by itself.
func signalled(signal int) finding {
	f := finding{class: Killed, detail: "by " + signalName(signal), weak: true}
	if slices.Contains([]int{3, 4, 5, 6, 7, 8, 11, 31}, signal) {
		f.class, f.detail = Crash, signalName(signal)
	}
	return f
}

// signalName is a signal as people know it. Numbers are those of Linux on all of our machines.
func signalName(n int) string {
	names := map[int]string{1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 5: "TRAP", 6: "ABRT", 7: "BUS", 8: "FPE", 9: "KILL", 10: "USR1",
		11: "SEGV", 12: "USR2", 13: "PIPE", 14: "ALRM", 15: "TERM", 24: "XCPU", 25: "XFSZ", 31: "SYS"}
	if name, ok := names[n]; ok {
		return "SIG" + name
	}
	return fmt.Sprintf("signal %d", n)
}

// lost says that a node failed.
func (c *court) lost(node, reason, place string) {
	detail := node + " failed"
	if reason != "" {
		detail += " (" + reason + ")"
	}
	c.add(finding{class: NodeLost, detail: detail, place: place, node: node, reason: detail})
}

// nodes looks at the nodes after the run. One that went down while the run went on is a cause;
// one that was down before is none.
func (c *court) nodes() {
	if c.Run.State == "COMPLETED" {
		return
	}
	for _, n := range c.Nodes {
		mine := len(c.Run.Nodes) == 0 || slices.Contains(c.Run.Nodes, n.Name)
		before := !n.Since.IsZero() && !c.Run.Start.IsZero() && n.Since.Before(c.Run.Start)
		if !n.Down || !mine || before {
			continue
		}
		c.lost(n.Name, strings.TrimPrefix(n.Reason, "muster: "), "node "+n.Name)
	}
	if c.Run.State == "NODE_FAIL" {
		// The nodes' own names say more than the state.
		slices.SortStableFunc(c.all, func(a, b finding) int {
			return boolInt(a.class == NodeLost && a.node == "") - boolInt(b.class == NodeLost && b.node == "")
		})
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
