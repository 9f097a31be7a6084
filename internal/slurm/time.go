package slurm

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// timeLayout is how Slurm's programs write a time under SLURM_TIME_FORMAT=standard.
const timeLayout = "2006-01-02T15:04:05"

// parseTime reads a time of Slurm's programs, which is local to where they run.
// The words for no time (Unknown, N/A, None, ...) are the zero time.
func parseTime(text string, loc *time.Location) (time.Time, error) {
	switch text {
	case "", "Unknown", "N/A", "None", "None assigned", "NONE", "(null)", "n/a", "Never":
		return time.Time{}, nil
	}
	t, err := time.ParseInLocation(timeLayout, text, orLocal(loc))
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no time of Slurm's", shorten(text))
	}
	return t, nil
}

func orLocal(loc *time.Location) *time.Location {
	if loc == nil {
		return time.Local
	}
	return loc
}

// parseDuration reads a span such as 01:02:03, 2-00:30:00 or 05:00
// (minutes and seconds). Words that set no limit (UNLIMITED, NONE, ...) are 0.
func parseDuration(text string) (time.Duration, error) {
	switch text {
	case "", "UNLIMITED", "NONE", "INVALID", "Partition_Limit", "N/A", "(null)":
		return 0, nil
	}
	days, clock, hasDays := strings.Cut(text, "-")
	if !hasDays {
		days, clock = "0", text
	}
	parts := strings.Split(clock, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return 0, fmt.Errorf("%q is no time span of Slurm's", shorten(text))
	}
	seconds := 0
	for _, part := range parts {
		n, err := number(part)
		if err != nil {
			return 0, fmt.Errorf("%q is no time span of Slurm's", shorten(text))
		}
		seconds = seconds*60 + n
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%q is no time span of Slurm's", shorten(text))
	}
	return time.Duration(n)*24*time.Hour + time.Duration(seconds)*time.Second, nil
}
