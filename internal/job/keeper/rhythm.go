package keeper

import (
	"math"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
)

// rhythm is the time between a job's lines of progress, in seconds.
type rhythm struct {
	// Gaps are the last ones.
	Gaps []float64 `json:"gaps,omitempty"`
	// Longest is the longest one of all, and StartUp the longest time to a first line.
	Longest float64 `json:"longest,omitempty"`
	StartUp float64 `json:"start_up,omitempty"`
	// Pauses are the last gaps that were much longer than usual: evaluations and checkpoints, most often. Stride is how
	// many steps lines are apart.
	Pauses []rest `json:"pauses,omitempty"`
	Stride int64  `json:"stride,omitempty"`
}

// rest is a pause of the training after a step, which is negative if it is not known.
type rest struct {
	Step    int64   `json:"step"`
	Seconds float64 `json:"seconds"`
}

const (
	// gapsKept is how many gaps say what is usual, pausesKept how many pauses when the next one is due.
	gapsKept   = 256
	pausesKept = 32
	// A gap is a pause if it is pauseTimes the usual one, which gapsLeast gaps say.
	pauseTimes = 5
	gapsLeast  = 8
	// Pauses are periodic if pausesLeast have come at steps that are so many strides apart.
	pausesLeast   = 3
	stridesApart  = 4
	stepsTogether = 1 << 40 // more steps than any training has
	// pauseLeast is what a pause lasts at least, in seconds: jobs are looked at once in a second.
	pauseLeast = 3.0
)

// beat takes in a number of lines that came in some time after a line of some step. A time that is much longer than so many
// lines need is a pause, which came before the first of them: logs are read more often than that.
func (r *rhythm) beat(lines int, in time.Duration, after int64) {
	if lines <= 0 || in < 0 {
		return
	}
	usual := r.quantile(0.5)
	first := in.Seconds() - float64(lines-1)*usual
	if len(r.Gaps) < gapsLeast || first < pauseTimes*usual || first < pauseLeast {
		r.add(in.Seconds()/float64(lines), lines)
		return
	}
	r.add(usual, lines-1)
	r.add(first, 1)
	r.Pauses = append(r.Pauses, rest{min(after, stepsTogether), round(first)})
	r.Pauses = slices.Delete(r.Pauses, 0, max(0, len(r.Pauses)-pausesKept))
}

// add takes in gaps that were equally long.
func (r *rhythm) add(gap float64, times int) {
	for range min(times, gapsKept) {
		r.Gaps = append(r.Gaps, round(gap))
		r.Longest = max(r.Longest, round(gap))
	}
	r.Gaps = slices.Delete(r.Gaps, 0, max(0, len(r.Gaps)-gapsKept))
}

// began takes in how long a run took to its first line.
func (r *rhythm) began(after time.Duration) { r.StartUp = max(r.StartUp, round(after.Seconds())) }

func round(seconds float64) float64 { return math.Round(seconds*1000) / 1000 }

// quantile is the gap that a share of all is not longer than, 0 if there is none.
func (r rhythm) quantile(share float64) float64 {
	if len(r.Gaps) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(r.Gaps))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

const (
	// shortestSilence is the least that counts as a hang, usualTimes how many usual gaps do, and
	// longestTimes how many of the longest one, which may have been an evaluation.
	shortestSilence = 10 * time.Minute
	usualTimes      = 10
	longestTimes    = 1.5
	// A first line comes after startUpLeast and what earlier runs needed, and after startUpUnknown
	// where no run came so far: large models take long to load.
	startUpLeast   = 4 * time.Minute
	startUpUnknown = 30 * time.Minute
	startUpTimes   = 3
)

// silence is how long a job may be without a line after one of some step: least at least, and as long as its longest pause
// where one is due, or where nobody knows when.
func (r rhythm) silence(after int64, least time.Duration) time.Duration {
	usual := max(least, seconds(usualTimes*r.quantile(0.5)))
	if every := r.period(); every > 0 && after >= 0 && (after-r.Pauses[0].Step)%every != 0 {
		return usual
	}
	return max(usual, seconds(longestTimes*r.Longest))
}

// period is the number of steps from one pause to the next, 0 if they come at any step.
func (r rhythm) period() int64 {
	if len(r.Pauses) < pausesLeast || r.Stride <= 0 {
		return 0
	}
	var every int64
	for _, p := range r.Pauses {
		if p.Step < 0 || r.Pauses[0].Step < 0 {
			return 0
		}
		every = divisor(every, p.Step-r.Pauses[0].Step)
	}
	if every < stridesApart*r.Stride {
		return 0
	}
	return every
}

// divisor is the greatest common one.
func divisor(a, b int64) int64 {
	a, b = max(a, -a), max(b, -b)
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// startUp is how long a run may be without its first line.
func (r rhythm) startUp() time.Duration {
	if r.StartUp == 0 {
		return startUpUnknown
	}
	return max(shortestSilence, startUpLeast+seconds(startUpTimes*r.StartUp))
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func (r rhythm) report() client.JobRhythm {
	const high = 0.95
	return client.JobRhythm{MedianSeconds: r.quantile(0.5), HighSeconds: r.quantile(high), LongestSeconds: r.Longest, StartUpSeconds: r.StartUp}
}
