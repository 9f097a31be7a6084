package pairs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// world is a network that is simulated.
type world struct {
	n      int
	noise  float64
	slow   map[int]float64 // by what their bandwidth is multiplied
	links  map[link]float64
	dead   map[int]bool
	fails  float64 // part of the measurements that fail
	random *rand.Rand
}

func (w world) names() (names []string) {
	for i := range w.n {
		names = append(names, fmt.Sprintf("node-%03d", i))
	}
	return names
}

// run is a whole search. The busier a round is, the slower are all of it.
func (w world) run(t *testing.T, seed uint64) (*Search, []Suspect) {
	t.Helper()
	s := New(w.names(), seed)
	for {
		round := s.Next()
		if len(round) == 0 {
			break
		}
		load := 0.5 + w.random.Float64()
		if w.n == 3 {
			load = 1 // one pair in each round: they are compared with each other
		}
		var all []Measured
		taken := map[string]bool{}
		for _, p := range round {
			if p.A == p.B || taken[p.A] || taken[p.B] {
				t.Fatalf("%v: a node is in two pairs", round)
			}
			taken[p.A], taken[p.B] = true, true
			all = append(all, w.measure(s.place[p.A], s.place[p.B], load, p))
		}
		s.Take(all)
		if s.Rounds() > Most(w.n) {
			t.Fatalf("%d nodes: round %d of at most %d", w.n, s.Rounds(), Most(w.n))
		}
	}
	return s, s.Verdicts()
}

func (w world) measure(a, b int, load float64, p Pairing) Measured {
	m := Measured{A: p.A, B: p.B, GBps: 12 * load, LatencyUs: 40 / load}
	part := 1.0
	for _, n := range []int{a, b} {
		if f, ok := w.slow[n]; ok {
			part = min(part, f)
		}
	}
	if f, ok := w.links[link{min(a, b), max(a, b)}]; ok {
		part = min(part, f)
	}
	m.GBps *= part * math.Exp(w.noise*w.random.NormFloat64())
	m.LatencyUs *= math.Exp(w.noise * w.random.NormFloat64())
	if w.dead[a] || w.dead[b] || w.random.Float64() < w.fails {
		return Measured{A: p.A, B: p.B, Err: "it does not answer"}
	}
	return m
}

func (w world) wrong(found []Suspect) (missed, innocent []string) {
	names := w.names()
	for i, name := range names {
		accused := slices.ContainsFunc(found, func(s Suspect) bool { return s.Sure && s.Node == name })
		guilty := w.dead[i] || w.slow[i] != 0
		switch {
		case guilty && !accused:
			missed = append(missed, name)
		case accused && !guilty:
			innocent = append(innocent, name)
		}
	}
	for _, s := range found {
		if !s.Sure || s.Node != "" {
			continue
		}
		a, b := slices.Index(names, s.A), slices.Index(names, s.B)
		// A link of a slow node is slow: to name it alone is to miss the node, and that is counted.
		if w.links[link{min(a, b), max(a, b)}] == 0 && w.slow[a] == 0 && w.slow[b] == 0 {
			innocent = append(innocent, s.A+"+"+s.B)
		}
	}
	return missed, innocent
}

func sizes() []int {
	all := []int{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 16, 17, 23, 32, 50, 51, 80, 128, 199, 200}
	return all
}

// TestHealthy accuses nobody where all are well, with noise of up to 10 % (standard deviation of the logarithm).
func TestHealthy(t *testing.T) {
	for _, noise := range []float64{0, 0.01, 0.05, 0.1} {
		for _, n := range sizes() {
			for seed := range uint64(40) {
				w := world{n: n, noise: noise, random: rand.New(rand.NewPCG(seed, uint64(n)))}
				s, found := w.run(t, seed)
				if _, innocent := w.wrong(found); len(innocent) > 0 {
					t.Fatalf("%d nodes, noise %v, seed %d: accused %v\n%+v", n, noise, seed, innocent, found)
				}
				if noise <= 0.05 && n >= few && s.Rounds() > 5 {
					t.Errorf("%d nodes, noise %v, seed %d: %d rounds where all are well", n, noise, seed, s.Rounds())
				}
			}
		}
	}
}

// TestSlow finds all nodes that have half of the bandwidth or less, fewer than a fifth of all, and accuses no others.
func TestSlow(t *testing.T) {
	for _, noise := range []float64{0, 0.02, 0.05, 0.1} {
		missed, runs := 0, 0
		for _, n := range sizes() {
			for seed := range uint64(40) {
				w := world{n: n, noise: noise, slow: map[int]float64{}, random: rand.New(rand.NewPCG(seed, uint64(n)))}
				k := 1
				if n >= 10 {
					k = 1 + w.random.IntN((n-1)/5)
				}
				for range k {
					w.slow[w.random.IntN(n)] = 0.1 + 0.4*w.random.Float64()
				}
				if n == 2 {
					w.slow = nil // nothing to compare with
				}
				_, found := w.run(t, seed)
				gone, innocent := w.wrong(found)
				if len(innocent) > 0 {
					t.Errorf("%d nodes, noise %v, seed %d, %v slow: accused %v", n, noise, seed, w.slow, innocent)
				}
				if len(gone) > 0 && noise <= 0.05 {
					t.Errorf("%d nodes, noise %v, seed %d, %v slow: missed %v", n, noise, seed, w.slow, gone)
				}
				missed += len(gone)
				runs += len(w.slow)
			}
		}
		t.Logf("noise %v: %d of %d slow nodes missed", noise, missed, runs)
		if missed*100 > runs {
			t.Errorf("noise %v: %d of %d slow nodes missed", noise, missed, runs)
		}
	}
}

// TestLittle finds nodes that have lost a quarter where noise is low.
func TestLittle(t *testing.T) {
	for _, n := range []int{8, 20, 64, 200} {
		for seed := range uint64(50) {
			w := world{n: n, noise: 0.02, slow: map[int]float64{int(seed) % n: 0.75}, random: rand.New(rand.NewPCG(seed, 3))}
			_, found := w.run(t, seed)
			if missed, innocent := w.wrong(found); len(missed)+len(innocent) > 0 {
				t.Errorf("%d nodes, seed %d: missed %v, accused %v", n, seed, missed, innocent)
			}
		}
	}
}

// TestDead finds nodes that answer nobody, also where measurements of others fail now and then.
func TestDead(t *testing.T) {
	for _, n := range sizes() {
		if n == 2 {
			continue
		}
		for seed := range uint64(20) {
			w := world{n: n, noise: 0.05, dead: map[int]bool{int(seed) % n: true}, random: rand.New(rand.NewPCG(seed, 4))}
			if n >= 16 {
				w.fails = 0.01
			}
			_, found := w.run(t, seed)
			missed, innocent := w.wrong(found)
			if len(missed)+len(innocent) > 0 || !found[0].Dead {
				t.Errorf("%d nodes, seed %d: missed %v, accused %v: %+v", n, seed, missed, innocent, found)
			}
		}
	}
}

// TestLink finds a slow link that it has paired in its first round, and leaves its nodes alone.
func TestLink(t *testing.T) {
	for _, n := range sizes() {
		if n == 2 {
			continue
		}
		for seed := range uint64(40) {
			w := world{n: n, noise: 0.05, links: map[link]float64{}, random: rand.New(rand.NewPCG(seed, 5))}
			s := New(w.names(), seed)
			p := s.Next()[0]
			a, b := s.place[p.A], s.place[p.B]
			w.links[link{min(a, b), max(a, b)}] = 0.4
			_, found := w.run(t, seed)
			_, innocent := w.wrong(found)
			if len(innocent) > 0 {
				t.Errorf("%d nodes, seed %d: accused %v, not only %v", n, seed, innocent, p)
			}
			if !slices.ContainsFunc(found, func(s Suspect) bool { return s.Node == "" }) {
				t.Errorf("%d nodes, seed %d: missed the link %v: %+v", n, seed, p, found)
			}
		}
	}
}

// TestTwo has nothing to compare, and tells a link that does not work.
func TestTwo(t *testing.T) {
	w := world{n: 2, dead: map[int]bool{1: true}, random: rand.New(rand.NewPCG(1, 1))}
	_, found := w.run(t, 1)
	if len(found) != 1 || found[0].Node != "" || !found[0].Dead || found[0].Sure {
		t.Errorf("got %+v", found)
	}
}

// TestTake hears only what was asked, and takes what is missing for a failure.
func TestTake(t *testing.T) {
	s := New([]string{"a", "b", "b", "c"}, 1)
	first := s.Next()
	if again := s.Next(); !slices.Equal(first, again) || len(first) != 1 {
		t.Fatalf("%v, then %v", first, again)
	}
	s.Take([]Measured{{A: "x", B: "y", GBps: 1}})
	if got := s.rounds[0]; len(got) != 1 || got[0].Err == "" {
		t.Errorf("got %+v", got)
	}
	if got := New(nil, 1).Next(); got != nil {
		t.Errorf("nobody: %v", got)
	}
}

// TestNobodyAnswers accuses nobody where no measurement comes to anything: it is the network, or its firewall.
func TestNobodyAnswers(t *testing.T) {
	for _, n := range sizes() {
		w := world{n: n, fails: 1, random: rand.New(rand.NewPCG(1, 1))}
		_, found := w.run(t, 1)
		if slices.ContainsFunc(found, func(s Suspect) bool { return s.Sure }) {
			t.Errorf("%d nodes: %+v", n, found)
		}
	}
}
