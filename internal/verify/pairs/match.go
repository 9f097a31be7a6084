package pairs

import "slices"

// matching is a round that is being made.
type matching struct {
	*Search
	judgement
	taken []bool
	round []Pairing
}

// match makes a round: links that are tried again, then suspects with nodes that were fast, then all others, who keep the network as
// busy as it was. Nobody meets the same partner again if there is another one.
func (s *Search) match(j judgement) []Pairing {
	m := matching{Search: s, judgement: j, taken: make([]bool, len(s.nodes))}
	order := s.shuffled()
	var tried []link
	for l := range j.links {
		if j.tried(l) {
			tried = append(tried, l)
		}
	}
	slices.SortStableFunc(tried, func(x, y link) int { return slices.Compare(x[:], y[:]) })
	for _, l := range tried {
		if !m.taken[l[0]] && !m.taken[l[1]] {
			m.pair(l[0], l[1])
		}
	}
	// Those who have measured least come first, so that nobody is left over twice.
	slices.SortStableFunc(order, func(x, y int) int { return j.met[x] - j.met[y] })
	for _, n := range order {
		if j.suspected(n) {
			m.seek(n, order, j.good)
		}
	}
	rest := func(n int) bool { return !j.accused[n] }
	for _, n := range order {
		if !j.accused[n] {
			m.seek(n, order, rest)
		}
	}
	for _, n := range order {
		m.seek(n, order, func(int) bool { return true })
	}
	return m.round
}

// seek finds a partner for a node that has none: one that it has not met if possible.
func (m *matching) seek(n int, order []int, fit func(int) bool) {
	if m.taken[n] {
		return
	}
	again := -1
	for _, other := range order {
		if other == n || m.taken[other] || !fit(other) {
			continue
		}
		if _, met := m.links[link{min(n, other), max(n, other)}]; !met {
			m.pair(n, other)
			return
		}
		if again < 0 {
			again = other
		}
	}
	if again >= 0 {
		m.pair(n, again)
	}
}

func (m *matching) pair(a, b int) {
	m.taken[a], m.taken[b] = true, true
	m.round = append(m.round, Pairing{m.Search.nodes[a], m.Search.nodes[b]})
}

// shuffled are the nodes in an order that the seed decides: the numbers are those of SplitMix64 (G. L. Steele et al., Fast Splittable
// Pseudorandom Number Generators, OOPSLA 2014).
func (s *Search) shuffled() []int {
	order := make([]int, len(s.nodes))
	for i := range order {
		s.random += 0x9e3779b97f4a7c15
		z := s.random
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		k := int((z ^ z>>31) % uint64(i+1))
		order[i] = order[k]
		order[k] = i
	}
	return order
}
