package main

import (
	"fmt"
	"slices"
	"time"
)

// medians are of runs of a scenario.
type medians struct {
	wall, cpu time.Duration
	result    // the last run's
}

func median(all []result) medians {
	of := func(get func(result) time.Duration) time.Duration {
		var values []time.Duration
		for _, r := range all {
			values = append(values, get(r))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return medians{
		wall: of(func(r result) time.Duration { return r.wall }), cpu: of(func(r result) time.Duration { return r.cpu }), result: all[len(all)-1],
	}
}

// medianTable has medians by scenario and side.
type medianTable map[string]map[string]medians

// targets says which speeds were to be reached, and whether they were, as far as
// there are figures.
func (t medianTable) targets(all []scenario, l latency) []string {
	var lines []string
	check := func(what string, value float64, limit string, ok bool) {
		verdict := "reached"
		if !ok {
			verdict = "missed"
		}
		lines = append(lines, fmt.Sprintf("| %s | %.2f | %s | %s |", what, value, limit, verdict))
	}
	for _, sc := range all {
		theirs, both := t[sc.name]["theirs"]
		ours, own := t[sc.name]["ours"]
		if !own {
			continue
		}
		if both {
			less := theirs.cpu.Seconds() / ours.cpu.Seconds()
			check(sc.title+": their CPU / ours", less, "at least 5", less >= 5)
		}
		if both && (sc.name == "effort" || sc.name == "fifty") && l != none {
			faster := theirs.wall.Seconds() / ours.wall.Seconds()
			check(sc.title+": their wall / ours", faster, "at least 3", faster >= 3)
		}
		if sc.name == "whole" && l != none {
			api := l.run + time.Duration(sc.nodes())*l.perInstance + 2*l.zone // Route 53 takes 500 names at once
			over := ours.wall.Seconds() / api.Seconds()
			check(sc.title+": our wall / the calls' own", over, "at most 1.10", over <= 1.10)
		}
		if sc.round {
			check(sc.title+": our CPU, s", ours.cpu.Seconds(), "under 0.3", ours.cpu < 300*time.Millisecond)
			mib := float64(ours.rssKiB) / 1024
			check(sc.title+": our memory, MiB", mib, "under 60", mib < 60)
		}
		if sc.capacity < sc.nodes() {
			check(sc.title+": instances launched", float64(ours.launched), "0", ours.launched == 0)
		}
	}
	return lines
}
