package verify

import (
	"math"
	"slices"
)

// compared sorts results into what became of them.
type compared struct {
	margins                             map[kind]float64
	worse, better, other, isNew, isGone []Change
	same                                int
}

// kind is a check that measures in a unit.
type kind struct{ suite, check, unit string }

// rank orders verdicts: what could not be looked at is worse than a warning, as nothing is proven any more. What does not
// apply is neither better nor worse than the rest, except that a fail is worse than it.
func rank(v Verdict) int {
	switch v {
	case Pass, Skip:
		return 0
	case Warn:
		return 1
	case Blind:
		return 2
	}
	return 3
}

// gone notes a result that one report has.
func (c *compared) gone(into *[]Change, k key, a, b Result) { *into = append(*into, change(k, a, b)) }

// both compares a result with what it was: by its verdict, and where that stayed, by its number.
func (c *compared) both(k key, a, b Result) {
	x := change(k, a, b)
	switch {
	case a.Verdict != b.Verdict && (a.Verdict == Skip && b.Verdict != Fail || b.Verdict == Skip):
		c.other = append(c.other, x)
	case rank(b.Verdict) > rank(a.Verdict):
		c.worse = append(c.worse, x)
	case rank(b.Verdict) < rank(a.Verdict):
		c.better = append(c.better, x)
	default:
		c.number(k, x, a, b)
	}
}

// unseen are the suites that proved something, and of which now nobody could look at so much that they are blind: their results are
// gone, and that is worse.
func (c *compared) unseen(a, b Report) {
	was := map[string]Verdict{}
	for _, s := range a.Suites {
		was[s.Name] = s.Verdict
	}
	for _, s := range b.Suites {
		before, there := was[s.Name]
		told := slices.ContainsFunc(c.worse, func(x Change) bool { return x.Suite == s.Name })
		if there && !told && s.Verdict == Blind && rank(before) < rank(Blind) && before != Skip {
			c.worse = append(c.worse, Change{Suite: s.Name, Check: s.Name, On: []string{}, From: before, To: Blind, Why: s.Why})
		}
	}
}

// number compares what was measured.
func (c *compared) number(k key, x Change, a, b Result) {
	gain, ok := gainOf(a.Value, b.Value)
	if !ok {
		c.same++
		return
	}
	margin := c.margins[kind{k.suite, k.check, a.Value.Unit}]
	x.Margin = margin
	switch {
	case gain < -margin && apart(a.Value, b.Value):
		c.worse = append(c.worse, x)
	case gain > margin && apart(a.Value, b.Value):
		c.better = append(c.better, x)
	default:
		c.same++
	}
}

// mostPart is the most that a change comes to: JSON has no infinity, which is where a number grows from next to nothing.
const mostPart = 1e6

// change is one result's.
func change(k key, a, b Result) Change {
	x := Change{
		Suite: k.suite, Check: k.check, On: []string{}, From: a.Verdict, To: b.Verdict,
		FoundA: a.Found, FoundB: b.Found, Why: b.Why,
	}
	if k.on != "" {
		x.On = append(x.On, k.on)
	}
	if a.Value != nil {
		x.A, x.Unit = finite(a.Value.Number), a.Value.Unit
	}
	if b.Value != nil && (a.Value == nil || a.Value.Unit == b.Value.Unit) {
		x.B, x.Unit = finite(b.Value.Number), b.Value.Unit
	}
	if x.A != nil && x.B != nil && *x.A != 0 {
		x.Part = min(max((*x.B-*x.A)/math.Abs(*x.A), -mostPart), mostPart)
	}
	return x
}

// finite is a number that JSON can say, or nil.
func finite(n float64) *float64 {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return nil
	}
	return &n
}

// gainOf is by which part a number got better, and whether that can be said.
func gainOf(a, b *Value) (float64, bool) {
	if a == nil || b == nil || a.Unit != b.Unit || a.Lower != b.Lower || finite(a.Number) == nil || finite(b.Number) == nil {
		return 0, false
	}
	x, y := math.Abs(a.Number), math.Abs(b.Number) // an offset of a clock has a sign, and its size counts
	if a.Lower {
		x, y = y, x
	}
	switch {
	case x == y:
		return 0, true
	case x == 0:
		return math.Inf(1), true
	}
	return (y - x) / x, true
}

// marginOf is how far two runs on sound machines differ, as a part of what was measured. No source gives such margins for all
// units; these are ours, and what equal nodes of one report differ by widens them (marginsOf):
// bandwidths are the best or the mean of many repeats of large messages, which differ by a few per cent (the spread that makes
// a pair of nodes suspect is 5 %, too); rates of small operations depend on caches and on other users; times and latencies
// are short, and the scheduler of any machine shows in them.
func marginOf(unit string) float64 {
	switch unit {
	case "GB/s", "MB/s", "GiB/s", "MiB/s", "Gb/s", "Gbit/s", "TFLOP/s":
		return 0.05
	case "ops/s", "samples/s":
		return 0.15
	case "us", "ms", "s":
		return 0.25
	}
	return 0.10
}

// leastApart is what two numbers have to differ by besides: less of it nobody feels, whatever part of a small number it is.
func leastApart(unit string) float64 {
	switch unit {
	case "s":
		return 1
	case "us", "ms":
		return 1
	}
	return 0
}

func apart(a, b *Value) bool {
	return math.Abs(math.Abs(a.Number)-math.Abs(b.Number)) >= leastApart(a.Unit)
}

// A margin is at least three times the spread of equal nodes, where so many of them were measured that it is known; and it
// is never so wide that a half is lost unseen.
const (
	spreadNodes = 8
	mostMargin  = 0.5
)

// marginsOf are the margins of each check: its unit's, or three times the spread between the results of the earlier report,
// by the median of their distances from the median, which a few bad nodes do not move. 1.4826 times that is the standard
// deviation, if they are spread as chance does. Where most of them moved by more than the unit's margin, and in one direction,
// that is no spread, and the unit's margin holds.
func marginsOf(a, b map[key]Result) map[kind]float64 {
	numbers, gains := map[kind][]float64{}, map[kind][]float64{}
	for k, x := range a {
		if gain, ok := gainOf(x.Value, b[k].Value); ok {
			m := kind{k.suite, k.check, x.Value.Unit}
			numbers[m], gains[m] = append(numbers[m], math.Abs(x.Value.Number)), append(gains[m], gain)
		}
	}
	margins := map[kind]float64{}
	for m, all := range numbers {
		margins[m] = marginOf(m.unit)
		if len(all) >= spreadNodes && math.Abs(Median(gains[m])) <= margins[m] {
			margins[m] = min(max(margins[m], 3*spread(all)), mostMargin)
		}
	}
	return margins
}

// spread is the standard deviation of numbers as a part of their median.
func spread(numbers []float64) float64 {
	middle := Median(numbers)
	if middle <= 0 {
		return 0
	}
	off := make([]float64, 0, len(numbers))
	for _, n := range numbers {
		off = append(off, math.Abs(n-middle))
	}
	return 1.4826 * Median(off) / middle
}

// Median is the middle of some numbers, 0 of none.
func Median(numbers []float64) float64 {
	if len(numbers) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(numbers))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return sorted[half-1]/2 + sorted[half]/2
}
