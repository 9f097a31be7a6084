package batch

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// Failures are counted on at the rate of Llama 3's training (catalog.Llama3).

const (
	// fewFailures are so few in the job's time that losing its work is a risk that is
	// left to the user.
	fewFailures = 0.05
	// much of the work is lost where this part of it is done a second time.
	much = 0.05
	// writeTime is what we take a checkpoint to need, for the best interval.
	writeTime = 2 * time.Minute
)

// checkpoints is about what is left when a node fails.
func (s *script) checkpoints() {
	gpus := s.job.minNodes * s.job.gpuCount
	if gpus == 0 {
		return
	}
	between := time.Duration(float64(time.Hour) / (float64(gpus) * catalog.Llama3.PerGPUHour()))
	limit, has := s.option("time")
	long := timeLimit(limit.Value)
	expected := float64(long) / float64(between)
	if has && expected >= fewFailures && !s.says(saving()) && !s.reading() {
		s.warnf("script/checkpoint", limit.Place, "%d GPUs for %s: expect %.2g failures, and nothing here names a checkpoint", gpus, span(long), expected).
			WithHint("save one every %s or so, and begin with the newest", span(interval(between)))
	}
	s.intervals(gpus, between)
}

// interval is the time between checkpoints that costs least: Young's first
// order approximation, sqrt(2 × time to write × time between failures).
func interval(between time.Duration) time.Duration {
	return time.Duration(math.Sqrt(2 * float64(writeTime) * float64(between)))
}

var (
	saves     = pattern.New(`(?i)(save|checkpoint|ckpt)`)
	timeUnits = map[string]time.Duration{
		"minutes": time.Minute, "mins": time.Minute, "min": time.Minute, "minute": time.Minute,
		"seconds": time.Second, "secs": time.Second, "sec": time.Second, "second": time.Second,
		"hours": time.Hour, "hrs": time.Hour, "hr": time.Hour, "hour": time.Hour,
	}
)

// intervals looks at options and variables that say a time between checkpoints,
// in a unit that their names tell.
func (s *script) intervals(gpus int, between time.Duration) {
	for _, v := range s.variables {
		if n, ok := v.value.number(); ok {
			s.rare(v.name, n, v.Place, gpus, between)
		}
	}
	inner := s.inner()
	for _, c := range s.commands {
		if len(inner[c]) > 0 {
			continue // the words of both are looked at once
		}
		args := c.args()
		for i, a := range args {
			name, text, has := strings.Cut(a.text, "=")
			if !has && i+1 < len(args) {
				text = args[i+1].text
			}
			if n, err := strconv.Atoi(text); err == nil && strings.HasPrefix(name, "-") {
				s.rare(name, n, a.Place, gpus, between)
			}
		}
	}
}

// rare reports checkpoints so far apart that much work is done twice.
func (s *script) rare(name string, n int, at diag.Place, gpus int, between time.Duration) {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '_' })
	if len(words) < 2 || !saves().MatchString(name) || strings.Contains(strings.ToLower(name), "timeout") {
		return
	}
	unit, ok := timeUnits[words[len(words)-1]]
	every := time.Duration(n) * unit
	lost := float64(every) / (2 * float64(between))
	if !ok || n > int(math.MaxInt32) || lost <= much {
		return
	}
	s.warnf("script/checkpoint-interval", at, "a checkpoint every %s, and one of %d GPUs fails every %s: %.0f %% of the work is lost", span(every), gpus, span(between), 100*min(lost, 1)).
		WithHint("%s costs least if a checkpoint takes %s", span(interval(between)), span(writeTime))
}

// span is a time for people, in its largest unit.
func span(d time.Duration) string {
	switch {
	case d >= 72*time.Hour:
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%.0f hours", d.Hours())
	case d >= 2*time.Minute:
		return fmt.Sprintf("%.0f minutes", d.Minutes())
	}
	return fmt.Sprintf("%.0f seconds", d.Seconds())
}

// timeLimit reads a value of --time: minutes, minutes:seconds,
// hours:minutes:seconds, days-hours and so on. 0 is none, or something else.
func timeLimit(text string) time.Duration {
	days, clock, hasDays := strings.Cut(text, "-")
	if !hasDays {
		days, clock = "", text
	}
	parts := strings.Split(clock, ":")
	units := []time.Duration{time.Hour, time.Minute, time.Second}
	if !hasDays && len(parts) < 3 {
		units = units[1:]
	}
	if len(parts) > len(units) {
		return 0
	}
	total := time.Duration(number(days)) * 24 * time.Hour
	for i, p := range parts {
		if number(p) == 0 && strings.Trim(p, "0") != "" {
			return 0
		}
		total += time.Duration(number(p)) * units[i]
	}
	return total
}
