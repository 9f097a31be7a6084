package jobfile

import (
	"strconv"
	"strings"
)

// Minutes are those of a time as Slurm reads it, rounded up; 0 is none or something else.
//
//	90    1:30:00    90:00    2-12    2-12:00    2-12:00:00
func Minutes(text string) int {
	days, clock, hasDays := strings.Cut(text, "-")
	if !hasDays {
		days, clock = "0", text
	}
	parts := strings.Split(clock, ":")
	var n [3]int // hours, minutes, seconds
	at := 0
	if !hasDays && len(parts) < len(n) {
		at = 1 // "90" and "90:00" begin with minutes
	}
	if len(parts)+at > len(n) {
		return 0
	}
	for i, p := range parts {
		v, err := strconv.Atoi(p)
		if err != nil || v < 0 {
			return 0
		}
		n[at+i] = v
	}
	d, err := strconv.Atoi(days)
	if err != nil {
		return 0
	}
	return (d*24+n[0])*60 + n[1] + (n[2]+59)/60
}
