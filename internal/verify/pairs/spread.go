package pairs

import (
	"math"
	"slices"
)

// A pair is slow if it is behind the middle of its round by more than the greater one of two margins: what chance does, which is wide
// times the spread of all rounds, and what would be too little to care about.
const (
	wide = 4
	// leastGBps and leastLatency are ln(1/0.85) and ln 1.5: 15 % less bandwidth, half as much again of latency.
	leastGBps    = 0.1625
	leastLatency = 0.4055
)

// middle is the centre of most of the values: the mean of those that are near the middle of the shortest half (P. J. Rousseeuw, Least
// Median of Squares Regression, Journal of the American Statistical Association 79, 1984). Unlike a median it does not move toward the
// slow ones as long as these are fewer than half. Spread is the deviation of those that are near.
func middle(values []float64) (centre, spread float64) {
	if len(values) == 0 {
		return 0, 0
	}
	all := slices.Sorted(slices.Values(values))
	half := len(all)/2 + 1
	best, at := math.Inf(1), 0
	for i := 0; i+half <= len(all); i++ {
		// Of halves that are as short, the faster one is right: nothing makes a network faster.
		if width := all[i+half-1] - all[i]; width <= best {
			best, at = width, i
		}
	}
	mid := (all[at] + all[at+half-1]) / 2
	// The factor makes it the deviation of a normal distribution, also of few values: Rousseeuw and Leroy, Robust Regression and
	// Outlier Detection, 1987, page 202.
	rough := 1.4826 * (1 + 5/max(1, float64(len(all)-1))) * best / 2
	var near []float64
	for _, v := range all {
		if math.Abs(v-mid) <= 2.5*rough {
			near = append(near, v)
		}
	}
	return meanAndDeviation(near)
}

func meanAndDeviation(values []float64) (mean, deviation float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		deviation += (v - mean) * (v - mean) / max(1, float64(len(values)-1))
	}
	return mean, math.Sqrt(deviation)
}

// scale is one of the things that are measured: its value as a logarithm, greater is better, and whether it was measured at all.
type scale struct {
	of    func(Measured) (float64, bool)
	least float64
}

func (s *Search) scales() []scale {
	return []scale{
		{func(m Measured) (float64, bool) { return math.Log(m.GBps), m.Err == "" && m.GBps > 0 }, max(leastGBps, math.Log(max(1, s.Least)))},
		{func(m Measured) (float64, bool) { return -math.Log(m.LatencyUs), m.Err == "" && m.LatencyUs > 0 }, leastLatency},
	}
}

// mark is what a measurement came to beside the others of its round.
type mark struct {
	slow bool
	// behind is by what factor it was slower than the middle, of the scale that was worse.
	behind float64
}

// marks judges all measurements of all rounds.
func (s *Search) marks() [][]mark {
	all := make([][]mark, len(s.rounds))
	for i, round := range s.rounds {
		all[i] = make([]mark, len(round))
		for k, m := range round {
			all[i][k].slow = m.Err != ""
		}
	}
	for _, scale := range s.scales() {
		rest, spread := s.rests(scale)
		margin := max(wide*spread, scale.least)
		for i := range rest {
			for k, r := range rest[i] {
				if -r > margin {
					all[i][k].slow = true
				}
				if !math.IsNaN(r) {
					all[i][k].behind = max(all[i][k].behind, math.Exp(-r))
				}
			}
		}
	}
	return all
}

// rests are how far measurements are from the middle of their round, and how they spread in all rounds together. What was not measured
// is no number.
func (s *Search) rests(scale scale) (rest [][]float64, spread float64) {
	var pool []float64
	for _, round := range s.rounds {
		values := make([]float64, len(round))
		var there []float64
		for k, m := range round {
			v, ok := scale.of(m.Measured)
			if values[k] = v; !ok {
				values[k] = math.NaN()
				continue
			}
			there = append(there, v)
		}
		centre, _ := middle(there)
		for k := range values {
			values[k] -= centre
			if !math.IsNaN(values[k]) {
				pool = append(pool, values[k])
			}
		}
		rest = append(rest, values)
	}
	_, spread = middle(pool)
	return rest, spread
}
