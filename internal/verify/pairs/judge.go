package pairs

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// What one partner says of a node, as the logarithm of how much likelier that is of a slow node than of a good one: slow is 0.9 against
// 0.01, fast 0.1 against 0.99. Enough is reached by three that say slow and no other, or by one more for each two that say fast.
const (
	saysSlow = 4.5
	saysFast = -2.3
	enough   = 13
	// prior is the logarithm of one slow among a hundred.
	prior = -4.6
)

type link [2]int

// judgement is what all rounds together say.
type judgement struct {
	// links are what the measurements of a pair say, nodes what their partners say of nodes, met how often a node has measured.
	links   map[link]float64
	nodes   []float64
	met     []int
	accused []bool
	marks   [][]mark
}

// judge looks at all rounds anew.
func (s *Search) judge() judgement {
	j := judgement{links: map[link]float64{}, accused: make([]bool, len(s.nodes)), met: make([]int, len(s.nodes)), marks: s.marks()}
	for i, round := range s.rounds {
		for k, m := range round {
			says := saysFast
			if j.marks[i][k].slow {
				says = saysSlow
			}
			j.links[link{m.a, m.b}] += says
			j.met[m.a]++
			j.met[m.b]++
		}
	}
	if j.nodes = j.hear(); s.mostFailed() {
		return j // who is right when nobody answers?
	}
	for {
		j.nodes = j.hear()
		worst := 0
		for n, says := range j.nodes {
			if !j.accused[n] && (j.accused[worst] || says > j.nodes[worst]) {
				worst = n
			}
		}
		if j.accused[worst] || j.nodes[worst] < enough {
			return j
		}
		j.accused[worst] = true
	}
}

// mostFailed tells whether more measurements have failed than not. Then none of a few nodes is at fault, and nobody is accused.
func (s *Search) mostFailed() bool {
	balance := 0
	for _, round := range s.rounds {
		for _, m := range round {
			if m.Err == "" {
				balance++
			} else {
				balance--
			}
		}
	}
	return balance < 0
}

// hear is what partners say of nodes: each one once, however often it was met, and nobody bad of one who only met the accused.
func (j judgement) hear() []float64 {
	nodes := make([]float64, len(j.accused))
	for l, says := range j.links {
		for i, n := range l {
			switch other := l[1-i]; {
			case says <= 0:
				nodes[n] += saysFast
			case !j.accused[other]:
				nodes[n] += saysSlow
			}
		}
	}
	return nodes
}

// suspected tells whether it is open if a node is slow.
func (j judgement) suspected(n int) bool { return !j.accused[n] && j.nodes[n] > 0 }

// tried tells whether a link is to be measured again: its nodes are good with others.
func (j judgement) tried(l link) bool {
	says := j.links[l]
	return says > 0 && says < enough && j.good(l[0]) && j.good(l[1])
}

func (j judgement) good(n int) bool { return !j.accused[n] && j.nodes[n] <= 0 }

// over tells whether there is nothing left to find out.
func (j judgement) over(s *Search) bool {
	least := 2 // a second look at all
	if len(s.nodes) < 2*few {
		least = 4 // of a few pairs in a round, that is what the spread takes
	}
	if len(s.rounds) < least {
		return false
	}
	for n := range s.nodes {
		if j.suspected(n) || j.met[n] == 0 {
			return false
		}
	}
	for l := range j.links {
		if j.tried(l) {
			return false
		}
	}
	return true
}

func (s *Search) verdictsOf(j judgement) []Suspect {
	var all []Suspect
	for n, says := range j.nodes {
		if !j.accused[n] && !j.suspected(n) {
			continue
		}
		about := func(m seen) bool {
			return (m.a == n || m.b == n) && (!j.accused[m.a] || !j.accused[m.b])
		}
		all = append(all, s.suspect(Suspect{Node: s.nodes[n], Sure: j.accused[n]}, says, about, j.marks))
	}
	for l, says := range j.links {
		if says <= 0 || !j.good(l[0]) || !j.good(l[1]) {
			continue
		}
		about := func(m seen) bool { return m.a == l[0] && m.b == l[1] }
		all = append(all, s.suspect(Suspect{A: s.nodes[l[0]], B: s.nodes[l[1]], Sure: says >= enough}, says, about, j.marks))
	}
	return sorted(all)
}

// evidenceLines bounds the lines of a suspect.
const evidenceLines = 12

// suspect adds what was measured.
func (s *Search) suspect(one Suspect, says float64, about func(seen) bool, marks [][]mark) Suspect {
	one.Confidence = 100 / (1 + math.Exp(-says-prior))
	one.Dead = true
	for i, round := range s.rounds {
		for k, m := range round {
			if !about(m) {
				continue
			}
			one.Dead = one.Dead && m.Err != ""
			if len(one.Evidence) < evidenceLines {
				one.Evidence = append(one.Evidence, fmt.Sprintf("round %d: %s", i, m.line(marks[i][k])))
			}
		}
	}
	return one
}

func (m seen) line(k mark) string {
	if m.Err != "" {
		return fmt.Sprintf("%s with %s: %s", m.A, m.B, m.Err)
	}
	text := fmt.Sprintf("%s with %s: %.3g GB/s", m.A, m.B, m.GBps)
	if m.LatencyUs > 0 {
		text += fmt.Sprintf(", %.4g us", m.LatencyUs)
	}
	if k.slow {
		return text + fmt.Sprintf(", %.1f times worse than the middle of its round", k.behind)
	}
	return text + ", as the others"
}

func sorted(all []Suspect) []Suspect {
	slices.SortStableFunc(all, func(x, y Suspect) int {
		return cmp.Or(-cmp.Compare(rank(x), rank(y)), cmp.Compare(x.Node, y.Node), cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B))
	})
	return all
}

func rank(s Suspect) int {
	r := 0
	if s.Sure {
		r += 2
	}
	if s.Node != "" {
		r++
	}
	return r
}
