package keeper

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/slurm"
)

// What follows from the end of a run: cause's words, and none where there is nothing to do.
const (
	actionElsewhere = string(cause.Elsewhere)
	actionHere      = string(cause.Here)
	actionStop      = string(cause.Stop)
	actionNone      = "none"
)

// evidence is what a run's end is judged by.
func (r *record) evidence(o outcome) cause.Evidence {
	e := cause.Evidence{
		Run: cause.Run{
			State: o.state, Reason: o.own.Reason, CancelledBy: o.own.CancelledBy, Exit: cause.Exit(o.exit), Derived: cause.Exit(o.own.Derived),
			Nodes: expand(r.Run.Nodes), Start: r.Run.Start, End: o.end,
		},
		Policy: r.Policy, Checkpoint: r.reached(r.newestStep(), r.Run.Step), BySteps: r.bySteps(), Hang: o.hang, RAS: o.ras,
	}
	for _, s := range o.steps {
		e.Run.Steps = append(e.Run.Steps, cause.Step{Name: s.Name, State: s.State, Exit: cause.Exit(s.ExitCode), Nodes: expand(s.NodeList), Tasks: s.Tasks, Layout: s.Layout})
	}
	for _, n := range o.nodes {
		e.Nodes = append(e.Nodes, cause.Node{Name: n.Name, Down: lost(n, r.Run.Start), Reason: n.Reason, Since: n.ReasonTime})
	}
	e.Kernel = kernelLines(o.nodes, r.Run.Start)
	e.Signs = append(e.Signs, r.Run.Signs...)
	e.Forgotten = cause.Forgotten{Runs: r.Forgotten.Runs, Restarts: r.Forgotten.Restarts, Checkpoint: r.reached(r.Forgotten.Checkpoint, r.Forgotten.Step)}
	for _, round := range r.Rounds {
		action := round.Action
		if action == actionNone {
			action = actionStop
		}
		e.Rounds = append(e.Rounds, cause.Round{
			Class: cause.Class(round.Class), Action: cause.Action(action), Checkpoint: r.reached(round.Checkpoint, round.Step),
			Step: round.Step, Begin: round.Start, End: round.End, Waited: round.WaitSeconds > 0,
		})
	}
	return e
}

// kernelLines are what kernels said for which nodes have drained themselves since a time. A node does so when a job ends
// there, before the job is over for Slurm.
func kernelLines(nodes []slurm.Node, since time.Time) []cause.KernelLine {
	var all []cause.KernelLine
	for _, n := range nodes {
		if line, ok := fleet.KernelLine(n.Reason); ok && !n.ReasonTime.Before(since) {
			all = append(all, cause.KernelLine{Node: n.Name, Text: line})
		}
	}
	return all
}

// bySteps says that steps tell how far a run has come: nobody knows where checkpoints are, or cannot see them, or their
// names do not say a step.
func (r *record) bySteps() bool {
	newest, found := r.newest()
	return len(r.Policy.Checkpoints) == 0 || r.unseen != "" || found && newest.Step == checkpoint.NoStep
}

// reached is how far a run has come for good: its newest checkpoint, or its last step. A run of which no step is known has
// come nowhere.
func (r *record) reached(saved, step int64) int64 {
	switch {
	case !r.bySteps():
		return saved
	case step <= 0:
		return cause.NoCheckpoint
	}
	return step
}

// lost says that a node failed since a time. One that was replaced quickly is up again, and its
// reason alone tells.
func lost(n slurm.Node, since time.Time) bool {
	if n.State.Down() {
		return true
	}
	theirs := slices.ContainsFunc([]string{"Not responding", "Node unexpectedly rebooted"}, func(s string) bool { return strings.HasPrefix(n.Reason, s) })
	ours := fleet.Ours(n.Reason) && !fleet.ByItself(n.Reason) && !strings.HasPrefix(n.Reason, reasonMark+"job ")
	return (theirs || ours) && !n.ReasonTime.Before(since)
}

// roundOf is a run that ended, and what follows.
func (r *record) roundOf(o outcome, v cause.Verdict) client.JobRound {
	round := client.JobRound{
		Start: r.Run.Start, End: o.end, State: o.state, Nodes: r.Run.Nodes, Class: string(v.Class), Why: v.Text, Blame: string(v.Blame),
		Guess: v.Guess, Hint: v.Hint, WaitSeconds: v.WaitSeconds, Action: string(v.Action), Because: v.Why, Checkpoint: r.newestStep(), Step: r.Run.Step,
	}
	if v.Class == cause.Completed || v.Class == cause.Cancelled {
		round.Action = actionNone
	}
	var nodes []string
	for _, f := range v.Faults {
		nodes = append(nodes, f.Node)
	}
	round.AtFault = slurm.Compress(nodes)
	const most = 5
	for _, f := range v.Findings[:min(len(v.Findings), most)] {
		text := f.Text
		if f.Place != "" {
			text += " (" + f.Place + ")"
		}
		round.Findings = append(round.Findings, text)
	}
	return round
}

// fileOf is a log's name for people.
func fileOf(path string) string { return filepath.Base(path) }
