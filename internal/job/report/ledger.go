package report

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
)

// Failure is a failure of a node.
type Failure struct {
	Node   string
	At     time.Time
	Reason string
}

// Standing is how often one node failed, beside the others.
type Standing struct {
	Node string
	// Held is how long jobs held it, Failures how often it failed meanwhile or in between.
	Held     NodeTime
	Failures int
	// Expected is how many failures it would have had at the rate of all.
	Expected float64
	// P is how probable so many or more are if all nodes fail alike, corrected for the number of nodes (Holm).
	P float64
	// Worse says that it fails more often than the others, as far as that can be told.
	Worse bool
	// Reasons are its failures' reasons, each once, the latest first.
	Reasons []string
}

// Ledger is how often nodes failed. Nodes that fail more than others cause a large part of all lost jobs: Meta found
// that to take 40 of them out brought the failures of jobs on 512 GPUs and more from 14 % to 4 %
// (Kokolis et al., section VI, https://arxiv.org/abs/2410.21680).
type Ledger struct {
	Nodes    []Standing
	Failures int
	Held     NodeTime
	// Needed is how many failures a node with an average time would need to stand out.
	Needed int
}

// significance is the probability of an innocent node being called worse in the whole ledger.
const significance = 0.05

// NewLedger compares nodes. held is how long jobs held each; nodes that nobody held are in it with 0.
//
// If all nodes fail at the same rate, of all failures each falls on a node with the probability of the node's part of the
// time: so many or more on one node are a tail of the binomial distribution, which is Poisson's once the total is given.
func NewLedger(held map[string]NodeTime, failures []Failure) Ledger {
	of := byNode(failures)
	l := Ledger{Failures: len(failures)}
	for node := range of {
		if _, ok := held[node]; !ok {
			held[node] = 0
		}
	}
	for _, h := range held {
		l.Held += h
	}
	for node, h := range held {
		s := Standing{Node: node, Held: h, Failures: len(of[node]), Reasons: reasons(of[node]), P: 1}
		if l.Held > 0 && h > 0 {
			part := float64(h) / float64(l.Held)
			s.Expected, s.P = part*float64(l.Failures), tail(s.Failures, l.Failures, part)
		}
		l.Nodes = append(l.Nodes, s)
	}
	l.judge()
	l.Needed = needed(l.Failures, len(l.Nodes))
	return l
}

// judge corrects the probabilities for their number: the smallest is multiplied by all nodes, the next by one less.
//
// S. Holm, Scand. J. Statist. 6 (1979) 65.
func (l *Ledger) judge() {
	slices.SortStableFunc(l.Nodes, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(b.Failures, a.Failures), cmp.Compare(a.Node, b.Node))
	})
	least := 0.0
	for i := range l.Nodes {
		least = max(least, min(1, l.Nodes[i].P*float64(len(l.Nodes)-i)))
		l.Nodes[i].P = least
		l.Nodes[i].Worse = least < significance && l.Nodes[i].Failures > 1
	}
}

// needed is how many of all failures one of so many nodes needs to stand out, 0 if even all would not do.
func needed(failures, nodes int) int {
	if nodes < 2 {
		return 0
	}
	for k := 2; k <= failures; k++ {
		if tail(k, failures, 1/float64(nodes))*float64(nodes) < significance {
			return k
		}
	}
	return 0
}

// tail is the probability of k or more of n, each with the probability p.
func tail(k, n int, p float64) float64 {
	if k <= 0 || p >= 1 {
		return 1
	}
	if p <= 0 {
		return 0
	}
	lgN, _ := math.Lgamma(float64(n) + 1)
	sum := 0.0
	for i := k; i <= n; i++ {
		lgI, _ := math.Lgamma(float64(i) + 1)
		lgR, _ := math.Lgamma(float64(n-i) + 1)
		sum += math.Exp(lgN - lgI - lgR + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(1, sum)
}

// sameFailure is how close together two failures of a node are one: Slurm's, and what follows from it.
const sameFailure = 10 * time.Minute

// FailuresOf are the failures of nodes: what Slurm wrote down of nodes that went down, and the jobs of one node that ended
// by its loss without such a note. unplaced is how many jobs of several nodes did, of which nobody knows which it was.
func FailuresOf(events []slurm.NodeEvent, runs []slurm.Held) (all []Failure, unplaced int) {
	for _, e := range events {
		if failed(e) {
			all = append(all, Failure{Node: e.Node, At: e.Start, Reason: e.Reason})
		}
	}
	all = distinct(all)
	noted := byNode(all)
	for _, r := range runs {
		if r.State != "NODE_FAIL" {
			continue
		}
		nodes := nodesOf(r)
		explained := slices.ContainsFunc(nodes, func(n string) bool {
			return slices.ContainsFunc(noted[n], func(f Failure) bool {
				return f.At.After(r.Start.Add(-time.Second)) && f.At.Sub(r.End).Abs() < sameFailure
			})
		})
		switch {
		case explained:
		case len(nodes) == 1 && nodes[0] != "":
			all = append(all, Failure{Node: nodes[0], At: r.End, Reason: "a job ended with NODE_FAIL"})
		default:
			unplaced++
		}
	}
	return distinct(all), unplaced
}

// failed says that an event is a node's failure: that it went down, or that a check drained it. What people set is
// planned; so is what is powered down, and a launch that got no capacity is nobody's fault.
func failed(e slurm.NodeEvent) bool {
	if planned(e.Reason) {
		return false
	}
	state := strings.ToUpper(e.State)
	if strings.Contains(state, "DOWN") || strings.Contains(state, "FAIL") {
		return byMachine(e.User)
	}
	return strings.Contains(state, "DRAIN") && byMachine(e.User) && e.Reason != ""
}

// phrases are planned wherever a reason has them, firsts where it begins with them. Each is whole words: a node that is
// called test-1, or a memtest that failed, is no test.
var (
	phrases = []string{
		"powered down", "power down", "launch failed", "no capacity", "did not get all of its nodes", "reboot asap", "reboot requested", "fleet stop",
		"fleet stopped", "fleet is stopped", "static node maintenance", "scheduled maintenance", "capacity block", "cluster update",
	}
	firsts = []string{"maintenance", "scheduled", "block", "update", "test"}
)

func planned(reason string) bool {
	reason = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(reason)), "muster: ")
	return slices.ContainsFunc(phrases, func(p string) bool { return slices.Contains(places(reason, p), true) }) ||
		slices.ContainsFunc(firsts, func(p string) bool { return strings.HasPrefix(reason, p) && places(reason, p)[0] })
}

// places are where a text has some words, and whether they are whole there.
func places(text, words string) (whole []bool) {
	within := func(b byte) bool { return b == '-' || b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' }
	for at := 0; ; {
		i := strings.Index(text[at:], words)
		if i < 0 {
			return whole
		}
		from, to := at+i, at+i+len(words)
		whole = append(whole, (from == 0 || !within(text[from-1])) && (to == len(text) || !within(text[to])))
		at = from + 1
	}
}

// byMachine says that a program set a node's state, and no person.
func byMachine(user string) bool { return user == "" || user == "slurm" || user == "root" }

// distinct are failures without those that follow another one of the same node closely.
func distinct(all []Failure) []Failure {
	slices.SortStableFunc(all, func(a, b Failure) int { return cmp.Or(cmp.Compare(a.Node, b.Node), a.At.Compare(b.At)) })
	var kept []Failure
	for _, f := range all {
		if n := len(kept); n > 0 && kept[n-1].Node == f.Node && f.At.Sub(kept[n-1].At) < sameFailure {
			continue
		}
		kept = append(kept, f)
	}
	return kept
}

func byNode(failures []Failure) map[string][]Failure {
	of := map[string][]Failure{}
	for _, f := range failures {
		of[f.Node] = append(of[f.Node], f)
	}
	return of
}

// reasons are those of failures, the latest first, each once.
func reasons(failures []Failure) (all []string) {
	for _, f := range slices.Backward(failures) {
		if f.Reason != "" && !slices.Contains(all, f.Reason) {
			all = append(all, f.Reason)
		}
	}
	return all
}
