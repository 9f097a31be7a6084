package report

import (
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
)

// leg is a piece of work without an interruption: the steps of one start of the training program.
type leg struct {
	// run is the index of the run that it is of.
	run   int
	marks []Mark
	// from is the earliest step that is known at the time of the first mark: the log was read later than it was written.
	from int64
	// every is how many steps lie between two marks.
	every int64
	// base is the step from which it went on.
	base int64
	// limit is the step up to which its work counts: from there on, it was done again or is gone. sure says that this is
	// known; where it is not, what lies behind is unknown.
	limit int64
	sure  bool
}

// noLimit is the limit of a leg of which all counts.
const noLimit = int64(1) << 62

// slack is what a step may take beyond its rhythm before that is a hang, and how far apart the marks of two processes lie.
const slack = 5 * time.Second

// legsOf cuts a job's marks into legs. Marks outside of all runs are dropped.
func legsOf(runs []slurm.Held, j Job, now time.Time) []leg {
	pace := rhythm(j.Marks)
	var legs []leg
	for i, r := range runs {
		begun, epochs := len(legs), int64(0)
		for _, m := range j.Marks {
			if !during(m.At, r, now) || m.Step < 0 {
				continue
			}
			m.At = earlier(m.At, endOf(r, now))
			m.Step += epochs
			if len(legs) > begun {
				l := &legs[len(legs)-1]
				turn := l.turned(m, m.Step-epochs, pace)
				m.Step, epochs = m.Step+turn, epochs+turn
			}
			if len(legs) == begun || legs[len(legs)-1].broken(m, pace) {
				m.Step, epochs = m.Step-epochs, 0
				legs = append(legs, leg{run: i})
			}
			legs[len(legs)-1].add(m)
		}
	}
	for i := range legs {
		legs[i].measure(j.Saved)
	}
	limits(legs, runs, j)
	return legs
}

// broken says that a mark is of another start of the program than those of the leg: it goes back further than the marks
// of several processes do that write into one log, or after a pause.
func (l *leg) broken(m Mark, pace time.Duration) bool {
	last := l.marks[len(l.marks)-1]
	if m.Step >= last.Step {
		return false
	}
	return m.At.Sub(last.At) > 2*pace+slack || last.Step-m.Step > 2*l.stride()
}

// during says that a time lies in a run. Accounting leaves the parts of seconds out: the last one belongs to it.
func during(at time.Time, r slurm.Held, now time.Time) bool {
	return !r.Start.IsZero() && !at.Before(r.Start) && at.Before(endOf(r, now).Add(time.Second))
}

// turned is what is added to the steps of a log that counts anew in each epoch: they fall to the first ones, with no time
// for another start in between.
func (l *leg) turned(m Mark, written int64, pace time.Duration) int64 {
	last := l.marks[len(l.marks)-1]
	if m.Step >= last.Step || written > l.stride() || last.Step-m.Step <= 2*l.stride() || m.At.Sub(last.At) > 2*scaled(pace, l.stride())+slack {
		return 0
	}
	return last.Step + l.stride() - m.Step
}

// stride is how many steps lie between its marks, as far as it goes.
func (l *leg) stride() int64 {
	n := len(l.marks)
	if n < 2 {
		return 1
	}
	return max(1, (l.marks[n-1].Step-l.marks[0].Step)/int64(n-1))
}

// add takes a mark. Of several at the same step the first counts, of several at the same time the last.
func (l *leg) add(m Mark) {
	n := len(l.marks)
	switch {
	case n > 0 && m.Step <= l.marks[n-1].Step:
	case n > 0 && m.At.Equal(l.marks[n-1].At):
		l.marks[n-1] = m
	default:
		if n == 0 {
			l.from = m.Step
		}
		l.marks = append(l.marks, m)
	}
}

// measure finds from which step a leg went on: the newest checkpoint before its first step, or one stride before that.
func (l *leg) measure(saved []Saved) {
	first := l.marks[0]
	l.every = l.stride()
	l.base = max(0, l.from-min(l.from, l.every))
	for _, s := range saved {
		if s.At.Before(first.At) && s.Step < l.from && s.Step > l.base-l.every && s.Step >= 0 {
			l.base = max(l.base, s.Step)
		}
	}
}

// limits finds up to which step each leg's work counts: from where a later one went on.
func limits(legs []leg, runs []slurm.Held, j Job) {
	limit, sure := ending(runs, j, legs)
	for i := len(legs) - 1; i >= 0; i-- {
		legs[i].limit, legs[i].sure = limit, sure
		if legs[i].base < limit {
			limit, sure = legs[i].base, true
		}
	}
}

// ending is up to which step the work counts that no later leg went on from.
func ending(runs []slurm.Held, j Job, legs []leg) (limit int64, sure bool) {
	if len(runs) == 0 || len(legs) == 0 {
		return noLimit, true
	}
	last := runs[len(runs)-1]
	if last.State == "COMPLETED" || last.End.IsZero() {
		return noLimit, true
	}
	for _, l := range legs {
		limit = max(limit, l.base)
	}
	for _, s := range j.Saved {
		limit = max(limit, s.Step)
	}
	return limit, j.SavedKnown
}

// reached is when a leg had finished a step: between its marks it is reckoned.
func (l *leg) reached(step int64, pace time.Duration) (at time.Time, ok bool) {
	last := l.marks[len(l.marks)-1]
	if step >= last.Step {
		// The next step may have begun, and what was done of it is not worth more than the mark says.
		return last.At.Add(scaled(pace, step-last.Step)), step < noLimit
	}
	before := Mark{At: l.marks[0].At.Add(-scaled(pace, l.marks[0].Step-l.base)), Step: l.base}
	for _, m := range l.marks {
		if step < m.Step {
			if step <= before.Step {
				return before.At, true
			}
			part := float64(step-before.Step) / float64(m.Step-before.Step)
			return before.At.Add(time.Duration(part * float64(m.At.Sub(before.At)))), true
		}
		before = m
	}
	return last.At, true
}

// rhythm is the time of one step: the median between marks that follow each other.
func rhythm(marks []Mark) time.Duration {
	var all []time.Duration
	l := leg{}
	for _, m := range marks {
		if n := len(l.marks); n > 0 && m.Step < l.marks[n-1].Step {
			all = append(all, l.paces()...)
			l.marks = nil
		}
		l.add(m)
	}
	all = append(all, l.paces()...)
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func (l *leg) paces() (all []time.Duration) {
	for i := 1; i < len(l.marks); i++ {
		a, b := l.marks[i-1], l.marks[i]
		all = append(all, b.At.Sub(a.At)/time.Duration(b.Step-a.Step))
	}
	return all
}

// scaled is the time of a number of steps, and never more than a hundred years.
func scaled(pace time.Duration, steps int64) time.Duration {
	const most = 100 * 365 * 24 * time.Hour
	if pace <= 0 || steps <= 0 {
		return 0
	}
	if steps > int64(most/pace) {
		return most
	}
	return pace * time.Duration(steps)
}
