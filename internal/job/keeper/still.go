package keeper

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/job/probe"
	"github.com/muster-hpc/muster/internal/job/ras"
)

// look is what the processes of a silent job did at a time. Two tell whether they come on.
type look struct {
	at    time.Time
	procs map[procKey]proc
	// mute are nodes that did not answer while others did, blind why nothing is known at all.
	mute  []string
	blind string
	// counts are what NCCL says that the ranks have begun.
	counts ras.Report
}

// procKey is one process, for good.
type procKey struct {
	node  string
	pid   int
	start uint64
}

type proc struct {
	rank   string
	part   probe.Part
	stands bool
	cpu    float64
	io     int64
	// place is where in its code it was all the time, "" if it was at several places, or nobody knows.
	place string
}

// stillness is what looks at a silent job show.
type stillness int

const (
	// unclear is too little to say anything.
	unclear stillness = iota
	// comesOn says that its processes compute, read or write, as in an evaluation.
	comesOn
	// stands says that the same process is stopped, or waits in the kernel, in both of the last looks.
	stands
	// isMute says that a node did not answer all the time.
	isMute
	// idles says that no process of its ranks did anything.
	idles
	// spins says that its processes compute, but are at one place each, and begin no operation of NCCL's: they wait for each other.
	spins
)

const (
	// A process does nothing that has less than these parts of a CPU, and bytes a second: threads that only wait wake up
	// now and then.
	idleShare = 0.01
	idleBytes = 1 << 10
	// Helpers that do something do more than this: metrics are gathered all the time.
	helpShare = 0.05
	helpBytes = 64 << 10
	// looksLeast is how many looks have to agree where two could by chance, idleFor which part of the limit they span
	// where nothing is done.
	looksLeast = 3
	idleFor    = 5
	looksKept  = 64
)

// weigh says what looks at a job show that is silent for longer than a limit. A job is told to hang by what its processes are
// seen to do, or not to do, and never by its silence alone.
func weigh(looks []look, limit time.Duration) (stillness, string) {
	n := len(looks)
	if n < 2 || looks[n-1].blind != "" || looks[n-2].blind != "" {
		return unclear, ""
	}
	if both(looks[n-2], looks[n-1]) {
		return stands, ""
	}
	if lasts(looks, limit, muteAlike) {
		return isMute, ""
	}
	if lasts(looks, limit/idleFor, idleBetween) {
		return idles, "its ranks have neither computed nor read nor written anything for " + job.Span(spanOf(looks, idleBetween))
	}
	if lasts(looks, limit, spinBetween) {
		return spins, fmt.Sprintf("for %s its ranks compute, but each is at one place of its code, and NCCL begins no operation: %s",
			job.Span(spanOf(looks, spinBetween)), placesOf(looks[n-1]))
	}
	return comesOn, ""
}

// placesOf names the places where ranks are, those of most ranks first.
func placesOf(l look) string {
	count := map[string]int{}
	for _, p := range l.procs {
		if p.part == probe.Leader {
			inner, _, _ := strings.Cut(p.place, ";")
			count[inner]++
		}
	}
	places := slices.SortedStableFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) })
	const most, longest = 3, 200
	var says []string
	for _, at := range places[:min(len(places), most)] {
		says = append(says, fmt.Sprintf("%d at %s", count[at], at[:min(len(at), longest)]))
	}
	return strings.Join(says, ", ")
}

// both says that a process stands in two looks.
func both(before, now look) bool {
	for key, p := range now.procs {
		if p.stands && before.procs[key].stands {
			return true
		}
	}
	return false
}

// lasts says that something is so between each two of the last looks, for a time at least.
func lasts(looks []look, atLeast time.Duration, is func(before, now look) bool) bool {
	n := len(looks)
	if n < looksLeast || !is(looks[n-3], looks[n-2]) || !is(looks[n-2], looks[n-1]) {
		return false
	}
	return spanOf(looks, is) >= atLeast
}

// spanOf is for how long something has been so.
func spanOf(looks []look, is func(before, now look) bool) time.Duration {
	i := len(looks) - 1
	for i > 0 && looks[i-1].blind == "" && is(looks[i-1], looks[i]) {
		i--
	}
	return looks[len(looks)-1].at.Sub(looks[i].at)
}

// muteAlike says that a node answered neither time.
func muteAlike(before, now look) bool {
	return slices.ContainsFunc(now.mute, func(n string) bool { return slices.Contains(before.mute, n) })
}

// idleBetween says that no process of a rank did anything between two looks.
func idleBetween(before, now look) bool {
	if !sameCrew(before, now) {
		return false
	}
	for key, p := range now.procs {
		if p.part != "" && (did(before.procs[key], p, now.at.Sub(before.at), idleShare, idleBytes)) {
			return false
		}
	}
	return true
}

// spinBetween says that each rank stayed where it was, helped by nobody, and that NCCL begins nothing.
func spinBetween(before, now look) bool {
	if !sameCrew(before, now) {
		return false
	}
	if s := ras.Frozen(before.counts, now.counts); !s.Known || !s.Frozen {
		return false
	}
	for key, p := range now.procs {
		was, passed := before.procs[key], now.at.Sub(before.at)
		switch p.part {
		case probe.Leader:
			if p.place == "" || p.place != was.place || moved(was, p, passed) > idleBytes {
				return false
			}
		case probe.Helper:
			if did(was, p, passed, helpShare, helpBytes) {
				return false
			}
		}
	}
	return true
}

// sameCrew says that the ranks, on all nodes, have the processes that they had.
func sameCrew(before, now look) bool {
	crew := func(l look) map[procKey]bool {
		all := map[procKey]bool{}
		for key, p := range l.procs {
			if p.part != "" {
				all[key] = true
			}
		}
		return all
	}
	mine := crew(now)
	return len(mine) > 0 && len(before.mute) == 0 && len(now.mute) == 0 && maps.Equal(mine, crew(before))
}

// did says that a process did more than so much. What cannot be seen may be anything.
func did(was, is proc, in time.Duration, share, bytes float64) bool {
	return is.cpu-was.cpu > share*in.Seconds() || moved(was, is, in) > bytes
}

// moved is how many bytes a process has read and written in a second.
func moved(was, is proc, in time.Duration) float64 {
	if was.io < 0 || is.io < 0 || in <= 0 {
		return helpBytes + 1
	}
	return float64(is.io-was.io) / in.Seconds()
}

// more adds a look. The first one stays, since it says how long something is so.
func more(looks []look, l look) []look {
	looks = append(looks, l)
	if len(looks) > looksKept {
		looks = slices.Delete(looks, 1, 2)
	}
	return looks
}

const (
	againLeast = 5 * time.Second
	againMost  = 5 * time.Minute
	againOften = 10
	laterOften = 3
)

// pauseAfter is how long to wait for the next look: a little where it may show that the job hangs, else longer, since a look
// takes some time on the job's nodes.
func pauseAfter(looks []look, limit time.Duration) time.Duration {
	again := min(max(limit/againOften, againLeast), againMost)
	n := len(looks)
	if n < 2 {
		return again
	}
	for _, p := range looks[n-1].procs {
		if p.stands {
			return again
		}
	}
	if idleBetween(looks[n-2], looks[n-1]) {
		return again
	}
	return max(again, limit/laterOften)
}
