// Package report says where the time of jobs went that held nodes: how much of it trained, and what the rest was. It reads
// accounting and what is known of a training's progress; where nothing is known it says so, and never takes that for good.
//
// Its law: every millisecond in which a job held a node is in exactly one class, whatever it was given.
package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
)

// Class is what a job did with the nodes that it held.
type Class int

// The classes. Time that a job waits in the queue holds no nodes and is none of them.
const (
	// Training did steps that count in the end, or may still count while the job runs.
	Training Class = iota
	// Checkpoint saved what was done.
	Checkpoint
	// Lost did steps that had to be done again, or are gone.
	Lost
	// Nodes is from a job's first start until its nodes were ready.
	Nodes
	// Program is from then until the first step: containers, imports, data.
	Program
	// Restart is the same two after an interruption.
	Restart
	// Hang finished no step for longer than the job's own rhythm allows, until it went on or ended.
	Hang
	// Idle held nodes on which nothing of the job ran.
	Idle
	// Unknown is all of which nobody knows what was done.
	Unknown
	// classes counts them.
	classes
)

// Classes are all, in the order in which they are shown.
func Classes() []Class {
	all := make([]Class, classes)
	for i := range all {
		all[i] = Class(i)
	}
	return all
}

// Key is a class's name in JSON.
func (c Class) Key() string {
	return [classes]string{"training", "checkpoint", "lost_work", "nodes", "program", "restart", "hang", "idle", "unknown"}[c]
}

// Text says what a class is.
func (c Class) Text() string {
	return [classes]string{
		"training", "saving checkpoints", "steps that were lost", "waiting for nodes to be ready", "starting the program",
		"starting again", "no step got done", "nothing ran", "not known",
	}[c]
}

// Job is one job as accounting and its logs know it.
type Job struct {
	// Runs are its runs, the oldest first.
	Runs []slurm.Held
	// Marks are the steps and evaluations that it is known to have finished, in the order of time.
	Marks []Mark
	// Saved are the checkpoints that it is known to have finished, in the order of time; SavedKnown says that there are
	// no others since SavedFrom.
	Saved      []Saved
	SavedKnown bool
	SavedFrom  time.Time
	// LogWhole says that Marks come from all that the job wrote in all of its runs. Slurm empties the output of a job that
	// runs again, unless it appends to it: a run without marks before the first that has some says nothing then.
	LogWhole bool
}

// Mark is a step that was finished at a time, or an evaluation, whose step counts for nothing.
type Mark struct {
	At   time.Time
	Step int64
	Eval bool
	// Estimated says that the time was not written down, but reckoned.
	Estimated bool
}

// Saved is a checkpoint that was whole at a time, which is zero if it is not known.
type Saved struct {
	At   time.Time
	Step int64
}

// Span is a part of a run in one class.
type Span struct {
	From, To time.Time
	Class    Class
}

// Split is where the time of one run went.
type Split struct {
	Run slurm.Held
	// Queued is how long the job waited before this run; a job that was put back waits since it lost its nodes.
	Queued time.Duration
	// Spans are the whole time in which it held nodes, without gaps.
	Spans []Span
	// Suspended is time of the spans in which Slurm had stopped the job, and given its nodes to others.
	Suspended time.Duration
	// Estimated says that times were reckoned which nobody wrote down.
	Estimated bool
}

// Of splits the runs of a job. now is the end of what has none.
func Of(j Job, now time.Time) []Split {
	now = now.Truncate(time.Millisecond)
	runs := started(j.Runs, now)
	j.Marks, j.Saved = slices.Clone(j.Marks), slices.Clone(j.Saved)
	slices.SortStableFunc(j.Marks, func(a, b Mark) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(j.Saved, func(a, b Saved) int { return a.At.Compare(b.At) })
	pauses := pausesOf(j, runs, now)
	j.Marks = slices.DeleteFunc(j.Marks, func(m Mark) bool { return m.Eval })
	legs := legsOf(runs, j, now)
	pace := rhythm(j.Marks)
	var all []Split
	for i, r := range runs {
		w := walk{job: j, run: r, pauses: pauses, again: i > 0, end: endOf(r, now), pace: pace, logged: j.LogWhole && len(legs) > 0 || len(legs) > 0 && legs[0].run < i}
		for _, l := range legs {
			if l.run == i {
				w.legs = append(w.legs, l)
			}
		}
		s := Split{Run: r, Queued: queued(runs, i), Spans: w.spans(), Estimated: slices.ContainsFunc(j.Marks, func(m Mark) bool { return m.Estimated })}
		s.suspend(r.Suspended)
		all = append(all, s)
	}
	return all
}

// started are the runs that held nodes, the oldest first.
func started(runs []slurm.Held, now time.Time) []slurm.Held {
	all := slices.DeleteFunc(slices.Clone(runs), func(r slurm.Held) bool {
		return r.Start.IsZero() || r.NodeList == "" || !endOf(r, now).After(r.Start)
	})
	slices.SortStableFunc(all, func(a, b slurm.Held) int { return cmp.Or(a.Start.Compare(b.Start), a.Submit.Compare(b.Submit)) })
	return all
}

func endOf(r slurm.Held, now time.Time) time.Time {
	if r.End.IsZero() {
		return now
	}
	return r.End.Truncate(time.Millisecond)
}

// queued is how long a job waited before a run.
func queued(runs []slurm.Held, i int) time.Duration {
	since := runs[i].Eligible
	if since.IsZero() {
		since = runs[i].Submit
	}
	if i > 0 && !runs[i-1].End.IsZero() {
		since = runs[i-1].End
	}
	if since.IsZero() {
		return 0
	}
	return max(0, runs[i].Start.Sub(since))
}

// suspend takes time out of the spans in which a job was suspended. When that was is not written down: first it is what
// looks like a hang, last what looks like training.
func (s *Split) suspend(left time.Duration) {
	for _, c := range []Class{Hang, Idle, Unknown, Program, Restart, Nodes, Checkpoint, Lost, Training} {
		for i := range s.Spans {
			if s.Spans[i].Class != c || left <= 0 {
				continue
			}
			part := min(left, s.Spans[i].To.Sub(s.Spans[i].From))
			s.Spans[i].To = s.Spans[i].To.Add(-part)
			s.Suspended, left, s.Estimated = s.Suspended+part, left-part, true
		}
	}
	s.Spans = slices.DeleteFunc(s.Spans, func(p Span) bool { return !p.To.After(p.From) })
}
