package report

import (
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/job/trainlog"
	"github.com/muster-hpc/muster/internal/slurm"
)

// MarksOf are the steps and evaluations that a log has, at the times that its lines say. Their clock is that of one of the zones: the one
// that puts the most of them into the job's runs. Where no line says a time, and the job had one run, they are reckoned back
// from when the log was written last, by what the lines say that a step takes; else there are none.
func MarksOf(samples []trainlog.Sample, written time.Time, runs []slurm.Held, now time.Time, zones ...*time.Location) []Mark {
	samples = slices.DeleteFunc(slices.Clone(samples), func(s trainlog.Sample) bool { return s.Step < 0 && !s.Eval })
	var best []Mark
	for _, zone := range zones {
		var marks []Mark
		for _, s := range samples {
			at := inZone(s.Time, zone)
			if !s.Time.IsZero() && within(at, runs, now) {
				marks = append(marks, Mark{At: at, Step: s.Step, Eval: s.Eval})
			}
		}
		if len(marks) > len(best) {
			best = marks
		}
	}
	if slices.ContainsFunc(best, func(m Mark) bool { return !m.Eval }) {
		return best
	}
	steps := slices.DeleteFunc(samples, func(s trainlog.Sample) bool { return s.Eval })
	return reckoned(steps, written, started(runs, now), now)
}

// inZone is a time whose clock was read in a zone and was taken for UTC's.
func inZone(t time.Time, zone *time.Location) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), zone)
}

// within says that a time lies in one of the runs.
func within(at time.Time, runs []slurm.Held, now time.Time) bool {
	return slices.ContainsFunc(runs, func(r slurm.Held) bool { return during(at, r, now) })
}

// reckoned are the steps of a log without times.
func reckoned(samples []trainlog.Sample, written time.Time, runs []slurm.Held, now time.Time) []Mark {
	if len(runs) != 1 || !within(written, runs, now) || slices.ContainsFunc(samples, func(s trainlog.Sample) bool { return !s.Time.IsZero() }) {
		return nil
	}
	var marks []Mark
	at := written
	for i, s := range slices.Backward(samples) {
		if at.Before(runs[0].Start) {
			return nil // it cannot be so
		}
		marks = append(marks, Mark{At: at, Step: s.Step, Estimated: true})
		if i == 0 {
			break
		}
		steps := s.Step - samples[i-1].Step
		if steps < 0 || !s.StepSeconds.Known || !(s.StepSeconds.Float >= 0 && s.StepSeconds.Float < 1e6) {
			return nil
		}
		at = at.Add(-time.Duration(float64(steps) * s.StepSeconds.Float * float64(time.Second)))
	}
	slices.Reverse(marks)
	return marks
}
