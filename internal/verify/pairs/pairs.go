// Package pairs decides which nodes measure with which in which round, and which of them is the slow one.
//
// A slow pair says only that something is wrong with one of two nodes or with what lies between them. So pairs that were slower than the
// others of their round are split, and each of their nodes meets partners that were fast: the node that is slow with all of them is the
// slow one, and a pair that is slow again while both its nodes are fast with others is a slow link. Values are compared only inside a
// round, as the pairs of one round load the network together.
//
// Of N nodes, fewer than a fifth of them slow, it needs at most Most(N) rounds, which grows as log N. It accuses on a sequential test
// (A. Wald, Sequential Tests of Statistical Hypotheses, Annals of Mathematical Statistics 16, 1945): three partners more than have
// spoken for the node. It does not see every link: only those that it has paired.
package pairs

import (
	"math/bits"
	"slices"
)

// Pairing is two nodes that measure with each other.
type Pairing struct{ A, B string }

// Measured is what two nodes measured. What failed has Err.
type Measured struct {
	A, B string
	// GBps is the slower one of both directions.
	GBps float64
	// LatencyUs is the median time of a round trip in microseconds, 0 if it was not measured.
	LatencyUs float64
	Err       string
}

// Search looks for slow nodes and links. Next says who measures, and Take what came of it, in turns until Next has nobody.
type Search struct {
	// Least is by what factor a bandwidth has to be below the middle of its round to be slow at all, where that is more than usual: where
	// all nodes share one machine's processors, chance is no network's. 0 is the usual.
	Least float64

	nodes   []string
	place   map[string]int
	random  uint64
	pending []Pairing
	rounds  [][]seen
}

// seen is a measurement between nodes by their places, the lower one first.
type seen struct {
	a, b int
	Measured
}

// New begins a search among nodes; those named twice count once. The seed decides who meets whom.
func New(nodes []string, seed uint64) *Search {
	s := &Search{place: map[string]int{}, random: seed}
	for _, n := range nodes {
		if _, ok := s.place[n]; !ok {
			s.place[n] = len(s.nodes)
			s.nodes = append(s.nodes, n)
		}
	}
	return s
}

// few is how many nodes make so few pairs in a round that nothing can be said inside one: all of them meet all others.
const few = 8

// Most is the most rounds that a search among some nodes takes.
func Most(nodes int) int {
	switch {
	case nodes < 2:
		return 0
	case nodes == 2:
		return 2
	case nodes < few:
		return turns(nodes) + extra
	}
	return 5 + bits.Len(uint(nodes-1))
}

// Next is the next round: no node is in two pairs. It is empty when the search is over, and the same until Take is called.
func (s *Search) Next() []Pairing {
	if s.pending == nil && len(s.rounds) < Most(len(s.nodes)) {
		if len(s.nodes) < few {
			s.pending = s.nextOfFew()
		} else if j := s.judge(); !j.over(s) {
			s.pending = s.match(j)
		}
	}
	return slices.Clone(s.pending)
}

// Take takes what a round measured. Pairs of Next that it lacks have failed; others are not heard.
func (s *Search) Take(all []Measured) {
	var round []seen
	for _, p := range s.pending {
		i := slices.IndexFunc(all, func(m Measured) bool { return m.A == p.A && m.B == p.B || m.A == p.B && m.B == p.A })
		m := Measured{A: p.A, B: p.B, Err: "nothing was measured"}
		if i >= 0 {
			m = all[i]
		}
		if m.Err == "" && !(m.GBps > 0) {
			m.Err = "no data came through"
		}
		a, b := s.place[m.A], s.place[m.B]
		round = append(round, seen{min(a, b), max(a, b), m})
	}
	s.rounds, s.pending = append(s.rounds, round), nil
}

// Rounds are how many have been taken.
func (s *Search) Rounds() int { return len(s.rounds) }

// Suspect is a node or a link that is slow, or does not answer.
type Suspect struct {
	// Node is empty for a link, which is between A and B.
	Node string
	A, B string
	// Dead says that nothing could be measured, so that it is not slow but away.
	Dead bool
	// Sure says that the test has come to its end. What is not sure is worth a look.
	Sure bool
	// Confidence is the chance in percent that it is so, if one in a hundred is before anybody has looked.
	Confidence float64
	// Evidence says what was measured, a line for each.
	Evidence []string
}

// Verdicts are what was found up to now, the sure ones first. Nobody is accused of what was only measured with somebody who is.
func (s *Search) Verdicts() []Suspect {
	if len(s.nodes) < few {
		return s.verdictsOfFew()
	}
	return s.verdictsOf(s.judge())
}
