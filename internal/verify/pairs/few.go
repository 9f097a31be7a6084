package pairs

import (
	"fmt"
	"math"
	"slices"
)

// once is how many rounds a few nodes need until all have met all others.
func once(nodes int) int { return nodes - 1 + nodes%2 }

// turns is how many rounds a few nodes have at first: the smallest clusters meet twice. extra is how many more there are for links.
func turns(nodes int) int {
	if nodes < 5 {
		return 2 * once(nodes)
	}
	return once(nodes)
}

const extra = 4

// nextOfFew has all nodes meet, and then repeats the rounds of pairs that are slow while their nodes are not.
func (s *Search) nextOfFew() []Pairing {
	if round := len(s.rounds); round < turns(len(s.nodes)) {
		return s.circle(round)
	}
	for _, one := range s.verdictsOfFew() {
		if one.Sure || one.Node != "" {
			continue
		}
		for round := range once(len(s.nodes)) {
			again := s.circle(round)
			if slices.ContainsFunc(again, func(p Pairing) bool { return p.A == one.A && p.B == one.B || p.A == one.B && p.B == one.A }) {
				return again
			}
		}
	}
	return nil
}

// circle is a round of a tournament: one node stays, the others move on by one place.
func (s *Search) circle(round int) []Pairing {
	n := len(s.nodes)
	all := n + n%2 // the last one of an odd number is nobody
	at := func(i int) int {
		if i == 0 {
			return all - 1
		}
		return (i - 1 + round) % (all - 1)
	}
	var pairs []Pairing
	for i := range all / 2 {
		if a, b := at(i), at(all-1-i); a < n && b < n {
			pairs = append(pairs, Pairing{s.nodes[a], s.nodes[b]})
		}
	}
	return pairs
}

// fewer is what a few nodes must be slower than those who did not meet them: 25 %. There are too few values to know their spread well.
const fewer = 0.288

// verdictsOfFew judges a few nodes by all their rounds: the slow node is the one all of whose pairs are slower than those without it.
// Each round is compared with its fastest pair. Three nodes make one pair in a round, so their rounds are compared with each other.
func (s *Search) verdictsOfFew() []Suspect {
	if len(s.rounds) < once(len(s.nodes)) || len(s.nodes) < 2 {
		return nil
	}
	t := trial{Search: s, out: make([]bool, len(s.nodes))}
	var found []Suspect
	for t.left() >= 3 {
		n, ok := t.worst()
		if !ok {
			break
		}
		found = append(found, t.node(n))
		t.out[n] = true
	}
	return sorted(append(found, t.links()...))
}

// trial is what is left of a few nodes' measurements when the guilty are out.
type trial struct {
	*Search
	out []bool
}

// values are what was measured of a scale beside the fastest pair of the round, what those who are out had left aside.
func (t trial) values(scale scale, take func(m seen, value float64, ok bool)) {
	for _, round := range t.rounds {
		best := 0.0
		if len(t.nodes) > 3 {
			best = math.Inf(-1)
			for _, m := range round {
				if v, ok := scale.of(m.Measured); ok {
					best = max(best, v)
				}
			}
		}
		for _, m := range round {
			if !t.out[m.a] && !t.out[m.b] {
				v, ok := scale.of(m.Measured)
				take(m, v-best, ok)
			}
		}
	}
}

func (t trial) left() int {
	n := 0
	for _, out := range t.out {
		if !out {
			n++
		}
	}
	return n
}

// worst is the node that is behind most, if all of its pairs are.
func (t trial) worst() (node int, ok bool) {
	most := 0.0
	for n := range t.nodes {
		if t.out[n] {
			continue
		}
		if behind := t.behind(func(m seen) bool { return m.a == n || m.b == n }); behind > most {
			node, most, ok = n, behind, true
		}
	}
	return node, ok
}

// behind is how far measurements are behind all others, at least and as a logarithm, of the scale on which that is more; 0 if not all
// of them are behind by what it takes, and infinite if all failed and others did not.
func (t trial) behind(these func(seen) bool) float64 {
	most := 0.0
	for _, scale := range t.scales() {
		var outside []float64
		best, failed, inside := math.Inf(-1), 0, 0
		t.values(scale, func(m seen, v float64, ok bool) {
			switch {
			case these(m) && m.Err != "":
				failed++
			case these(m) && ok:
				inside, best = inside+1, max(best, v)
			case ok:
				outside = append(outside, v)
			}
		})
		if len(outside) == 0 || inside+failed == 0 {
			continue
		}
		if inside == 0 {
			return math.Inf(1)
		}
		centre, spread := middle(outside)
		if gap := centre - best; gap > max(fewer, scale.least, spread) {
			most = max(most, gap)
		}
	}
	return most
}

func (t trial) node(n int) Suspect {
	return t.told(Suspect{Node: t.nodes[n], Sure: true}, func(m seen) bool {
		return (m.a == n || m.b == n) && !t.out[m.a] && !t.out[m.b]
	})
}

// links are the pairs that are slow while their nodes are not. With nothing to compare with, only one that failed is told.
func (t trial) links() []Suspect {
	var found []Suspect
	for a := range t.nodes {
		for b := a + 1; b < len(t.nodes); b++ {
			if t.out[a] || t.out[b] {
				continue
			}
			about := func(m seen) bool { return m.a == a && m.b == b }
			one := t.told(Suspect{A: t.nodes[a], B: t.nodes[b]}, about)
			suspect := t.behind(about) > 0 && t.left() > 2
			if one.Sure = suspect && len(one.Evidence) >= 3; suspect || one.Dead && len(one.Evidence) > 0 {
				found = append(found, one)
			}
		}
	}
	return found
}

func (t trial) told(one Suspect, about func(seen) bool) Suspect {
	one.Dead, one.Confidence = true, 99
	for i, round := range t.rounds {
		for _, m := range round {
			if !about(m) {
				continue
			}
			one.Dead = one.Dead && m.Err != ""
			text := m.Err
			if text == "" {
				text = fmt.Sprintf("%.3g GB/s, %.4g us", m.GBps, m.LatencyUs)
			}
			if len(one.Evidence) < evidenceLines {
				one.Evidence = append(one.Evidence, fmt.Sprintf("round %d: %s with %s: %s", i, m.A, m.B, text))
			}
		}
	}
	return one
}
