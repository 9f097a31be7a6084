package report

import (
	"fmt"
	"time"

	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/say/count"
)

// Advice is one sentence on what to do about what cost a row most beside training, empty where nothing is worth it.
func (r Row) Advice(splits []Split) string {
	worst, ok := r.Worst()
	const worth = 0.02 // of the time
	if !ok || float64(r.Of[worst]) < worth*float64(r.Held) {
		return ""
	}
	switch worst {
	case Checkpoint:
		return "save at longer intervals, or asynchronously" + interval(r, splits)
	case Lost:
		return "save checkpoints more often: what was done since the last one was done again" + interval(r, splits)
	case Nodes:
		return "keep nodes ready (MinCount) where minutes matter: Slurm gave them to the job before they were up"
	case Program:
		return "look at what happens before the first step: import the image ahead, keep compiled kernels and small files of the data on the node's own disk"
	case Restart:
		return "make the start of the program shorter, or keep a spare node in the job: each interruption pays for it again"
	case Hang:
		return "let muster look for hangs (#MUSTER --hang=auto): nothing moved for longer than this job's steps take"
	case Idle:
		return "end the job with its training: its nodes were held and nothing ran on them"
	case Unknown:
		return "let the training write lines with a time and a step, so that its time can be told apart"
	}
	return ""
}

// interval is the time between checkpoints at which the least is lost, of what they and interruptions took of a job; empty if
// either is not known.
func interval(r Row, splits []Split) string {
	var running, saving time.Duration
	saves, ends := 0, 0
	for _, s := range splits {
		for _, p := range s.Spans {
			running += p.To.Sub(p.From)
			if p.Class == Checkpoint {
				saving += p.To.Sub(p.From)
				saves++
			}
		}
		if Interrupted(s.Run) {
			ends++
		}
	}
	if r.Jobs != 1 || saves == 0 || ends == 0 || saving <= 0 {
		return ""
	}
	each := saving.Seconds() / float64(saves)
	best, formula := plan.Interval(each, running.Seconds()/float64(ends))
	text := fmt.Sprintf("; with %s for a save and %s in %s, least is lost with one every %s (%s)",
		round(each), count.Of(ends, "interruption"), round(running.Seconds()), round(best), formula)
	if ends == 1 {
		text += ", which is a guess: one interruption says little of when the next one comes"
	}
	return text
}

// round is a time as people say it.
func round(seconds float64) string {
	switch {
	case seconds < 120:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 2*3600:
		return fmt.Sprintf("%.0f min", seconds/60)
	}
	return fmt.Sprintf("%.0f h", seconds/3600)
}
