package report

import (
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
)

// walk goes through one run, from its start to its end.
type walk struct {
	job    Job
	run    slurm.Held
	pauses []pause
	again  bool
	end    time.Time
	pace   time.Duration
	// logged says that a step of this run would be known.
	logged bool
	legs   []leg
	line   line
}

// spans classifies the run.
func (w *walk) spans() []Span {
	w.line = line{at: w.run.Start, end: w.end}
	w.nodes()
	if len(w.legs) == 0 {
		w.dark()
	}
	for i := range w.legs {
		w.leg(i)
	}
	w.line.rest(Unknown)
	spans := w.line.spans
	for i := range w.legs {
		spans = w.lost(spans, &w.legs[i])
	}
	if w.again {
		for _, c := range []Class{Nodes, Program} {
			spans = recast(spans, w.run.Start, w.end, c, Restart)
		}
	}
	return spans
}

// nodes is the time until something of the job ran. Slurm gives a job its nodes before they are ready.
func (w *walk) nodes() {
	first := time.Time{}
	for _, s := range w.run.Steps {
		if s.Program() && (first.IsZero() || s.Start.Before(first)) && !s.Start.IsZero() {
			first = s.Start
		}
	}
	if !first.IsZero() {
		w.line.until(first, Nodes)
		return
	}
	if len(w.legs) > 0 {
		return
	}
	switch w.run.State {
	case "NODE_FAIL", "BOOT_FAIL", "REQUEUED", "CONFIGURING", "LAUNCH_FAILED":
		w.line.rest(Nodes)
	default:
		w.line.rest(Idle)
	}
}

// dark is the time of a run of which no step is known.
func (w *walk) dark() {
	if w.logged && w.run.State != "COMPLETED" {
		w.line.rest(Program) // it is a training, and this run did not get as far as its first step
		return
	}
	w.tasks()
}

// tasks follows the tasks that srun started: between them and after them, nothing ran but a script on one node.
func (w *walk) tasks() {
	busy := w.line.at
	for _, s := range w.run.Tasks() {
		if s.Start.After(busy) && busy.After(w.run.Start) && busy.After(w.line.at) {
			w.line.until(busy, Unknown)
			w.line.until(s.Start, Idle)
		}
		if s.End.IsZero() {
			busy = w.end
		}
		busy = later(busy, s.End)
	}
	if len(w.run.Tasks()) == 0 {
		return
	}
	w.line.until(busy, Unknown)
	w.line.rest(Idle)
}

// leg goes through one start of the program: until its first step, from mark to mark, and what came after the last.
func (w *walk) leg(i int) {
	l := &w.legs[i]
	first := l.marks[0]
	begun := first.At.Add(-scaled(w.pace, first.Step-l.base))
	if i == 0 {
		w.line.until(begun, Program)
	} else {
		w.line.until(begun, Restart)
	}
	w.line.until(first.At, Training)
	for k := 1; k < len(l.marks); k++ {
		w.between(l.marks[k-1], l.marks[k])
	}
	if i+1 < len(w.legs) {
		next := w.legs[i+1].marks[0]
		w.after(l, earlier(w.end, next.At))
		return
	}
	w.tail(l)
}

// between gives the time of the steps between two marks to training, and what is above their rhythm to the checkpoints and
// evaluations that were over meanwhile. What is left is a hang, if it is much.
func (w *walk) between(a, b Mark) {
	work := scaled(w.pace, b.Step-a.Step)
	at, over, class := a.At, b.At.Sub(a.At)-work, Training
	// A pause comes after steps and before others. Where it began is not known: it is put behind what was before it.
	for _, p := range w.during(a.At, b.At) {
		part := min(over, p.over.Sub(at))
		if part <= 0 {
			continue
		}
		class = p.class
		w.line.until(at.Add(part), class)
		at, over = at.Add(part), over-part
	}
	if over > 2*work+slack {
		class = w.stood(a.At)
	}
	if over > 0 {
		w.line.until(at.Add(over), class)
	}
	w.line.until(b.At, Training)
}

// stood is what a pause is that no line explains: a hang, unless it may have been a checkpoint of which nobody knows.
func (w *walk) stood(since time.Time) Class {
	if w.job.SavedKnown && !since.Before(w.job.SavedFrom) {
		return Hang
	}
	return Unknown
}

// tail is what came after the last mark of a run.
func (w *walk) tail(l *leg) {
	last := l.marks[len(l.marks)-1]
	next := last.At.Add(scaled(w.pace, l.every))
	for _, p := range w.during(last.At, w.end) {
		w.line.until(last.At.Add(scaled(w.pace, p.step-last.Step)), Training)
		w.line.until(p.over, p.class)
		next = later(next, p.over.Add(scaled(w.pace, l.every)))
	}
	switch {
	case w.run.End.IsZero():
		w.line.until(next.Add(2*scaled(w.pace, l.every)+slack), Training)
		w.line.rest(Hang)
	case w.run.State == "COMPLETED":
		w.line.until(earlier(next, w.done()), Training)
		w.line.until(w.done(), Unknown)
		w.line.rest(Idle)
	default:
		w.line.until(next, Training)
		w.line.rest(Hang)
	}
}

// after is what came between two starts of the program in one run: one rhythm of steps that nobody saw, and then nothing
// until the next one started.
func (w *walk) after(l *leg, _ time.Time) {
	last := l.marks[len(l.marks)-1]
	w.line.until(last.At.Add(scaled(w.pace, l.every)), Training)
}

// done is when the tasks of the run had ended that srun started; without any, when the run ended.
func (w *walk) done() time.Time {
	at := time.Time{}
	for _, s := range w.run.Tasks() {
		if s.End.IsZero() {
			return w.end
		}
		at = later(at, s.End)
	}
	if at.IsZero() {
		return w.end
	}
	return at
}

// lost gives the training of a leg behind its limit to what was lost, or to what is unknown.
func (w *walk) lost(spans []Span, l *leg) []Span {
	at, ok := l.reached(l.limit, w.pace)
	if !ok {
		return spans
	}
	to, class := w.end, Lost
	for i := range w.legs {
		if other := w.legs[i].marks[0]; other.At.After(l.marks[len(l.marks)-1].At) {
			to = earlier(to, other.At.Add(-scaled(w.pace, other.Step-w.legs[i].base)))
		}
	}
	if !l.sure {
		class = Unknown
	}
	return recast(spans, later(at, l.marks[0].At.Add(-scaled(w.pace, l.marks[0].Step-l.base))), to, Training, class)
}
