package judge

import (
	"fmt"
	"slices"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
	"github.com/muster-hpc/muster/internal/verify/pairs"
)

// Traffic is what two nodes measured with each other over TCP. What failed has Err.
type Traffic struct {
	A, B string
	// AB and BA are 10^9 bytes a second each way, MedianUs and P99Us times of round trips in microseconds.
	AB, BA          float64
	MedianUs, P99Us float64
	Err             string
}

// NetworkSeen is what nodes measured with each other, and what is right there.
type NetworkSeen struct {
	Nodes []string
	// Rounds are what was measured at once, in their order.
	Rounds [][]Traffic
	// Suspects are what a search by pairs made of it.
	Suspects []pairs.Suspect
	Right    expect.Bandwidth
	// Unjudged is why bandwidths say nothing here, such as that all nodes are one machine; empty where they do.
	Unjudged string
	// CapGBps is muster's own limit for each node, which the bandwidths of a rehearsal measure; 0 is none.
	CapGBps float64
}

// Parts of the expected bandwidth of TCP below which it is a warning and a failure: muster's own, as AWS names the most that can be.
const (
	networkWarn = 0.8
	networkFail = 0.5
)

const networkRule = "muster warns below 80 % and fails below 50 % of "

// Network judges what pairs measured: that all could, which node or link is slower than the others, and what it comes to.
func Network(s NetworkSeen) ([]verify.Result, []verify.Matrix) {
	if len(s.Nodes) < 2 {
		return []verify.Result{{Check: "network-pairs", Verdict: verify.Skip, Why: "one node has nobody to measure with"}}, nil
	}
	all := s.pairs("network")
	for _, suspect := range s.Suspects {
		all = append(all, suspected("network", suspect))
	}
	all = append(all, s.bandwidth(), s.latency())
	return all, []verify.Matrix{
		s.matrix("network bandwidth", "GB/s", func(t Traffic) float64 { return min(t.AB, t.BA) }),
		s.matrix("network latency", "us", func(t Traffic) float64 { return t.MedianUs }),
	}
}

// NCCLNodes judges pairs of nodes that measured all_reduce over NCCL: which node or link makes it slow.
func NCCLNodes(s NetworkSeen) ([]verify.Result, []verify.Matrix) {
	all := s.pairs("nccl")
	for _, suspect := range s.Suspects {
		r := suspected("nccl", suspect)
		if suspect.Node != "" {
			r.Hint = "drain it, and see what the suites efa and gpu say of it"
		}
		all = append(all, r)
	}
	if len(s.Suspects) == 0 && len(s.Rounds) > 0 {
		all[0].Why = "no node or link is slower than the others: what is slow is all of them, or shows with more than two nodes alone"
	}
	return all, []verify.Matrix{s.matrix("all_reduce between two nodes", "GB/s", func(t Traffic) float64 { return t.AB })}
}

// pairs says that pairs could measure. Those that could not are each a warning, unless a suspect explains them.
func (s NetworkSeen) pairs(of string) []verify.Result {
	ok, failed, met := 0, []verify.Result{}, map[[2]string]bool{}
	for _, round := range s.Rounds {
		for _, t := range round {
			switch {
			case t.Err == "":
				ok++
				met[[2]string{min(t.A, t.B), max(t.A, t.B)}] = true
			case !slices.ContainsFunc(s.Suspects, func(x pairs.Suspect) bool { return explains(x, t) }):
				failed = append(failed, verify.Result{Check: of + "-pair", On: t.A + "+" + t.B, Verdict: verify.Warn, Found: t.Err, Why: "this measurement failed; others of its nodes did not"})
			}
		}
	}
	sum := verify.Result{Check: of + "-pairs", Verdict: verify.Pass, Found: measuredIn(ok, len(met), len(s.Rounds)), Required: true}
	switch {
	case ok == 0:
		sum.Verdict, sum.Why = verify.Blind, "no two nodes could measure with each other"
	case len(s.Suspects) > 0:
		sum.Verdict, sum.Why = verify.Warn, "some are slower than the others of their round, or do not answer"
	case len(s.Nodes) == 2:
		sum.Why = "two nodes are one pair: there is no other to compare it with"
	}
	return append([]verify.Result{sum}, failed...)
}

// measuredIn says how many pairs measured in which rounds; in each of them a pair measures both ways.
func measuredIn(measurements, pairs, rounds int) string {
	times := ""
	if measurements > pairs {
		times = fmt.Sprintf(" %d times", measurements)
	}
	return fmt.Sprintf("%s measured%s in %s", count.Of(pairs, "pair"), times, count.Of(rounds, "round"))
}

func explains(x pairs.Suspect, t Traffic) bool {
	if x.Node != "" {
		return x.Node == t.A || x.Node == t.B
	}
	return x.A == t.A && x.B == t.B || x.A == t.B && x.B == t.A
}

// suspected is the result of a node or a link. One that is not sure is a warning.
func suspected(of string, x pairs.Suspect) verify.Result {
	r := verify.Result{Check: of + "-node", On: x.Node, Verdict: verify.Warn, Evidence: x.Evidence, Found: fmt.Sprintf("slow, with %.4g %% confidence", x.Confidence)}
	r.Why, r.Hint = "it is slower than the others with all that it met", "drain it, and see its network card's counters"
	if x.Node == "" {
		r.Check, r.On = of+"-link", x.A+"+"+x.B
		r.Why, r.Hint = "it is slow while both its nodes are not with others", "see what lies between them: switches, cables, placement"
	}
	if x.Dead {
		r.Found, r.Hint = "no answer", "see that its firewall lets nodes reach each other on all ports (on AWS: the security group)"
		r.Why = "nothing could be measured"
	}
	if x.Sure {
		r.Verdict = verify.Fail
	}
	r.Want = "as fast as the others of a round"
	r.Source = "the middle of each round: muster compares nodes with each other"
	return r
}

// bandwidth judges what most pairs came to.
func (s NetworkSeen) bandwidth() verify.Result {
	values := s.values(func(t Traffic) float64 { return min(t.AB, t.BA) })
	r := verify.Result{Check: "network-bandwidth", Verdict: verify.Pass}
	if len(values) == 0 {
		r.Verdict, r.Why = verify.Blind, "nothing was measured"
		return r
	}
	median := values[len(values)/2]
	r.Found = fmt.Sprintf("%.3g GB/s is the median of pairs, the slower way; %.3g to %.3g", median, values[0], values[len(values)-1])
	r.Value = &verify.Value{Number: median, Unit: "GB/s"}
	right, _ := s.Right.For(0)
	switch {
	case s.CapGBps > 0:
		r.Why = fmt.Sprintf("measured, and not judged: muster limits each node to %.3g GB/s here, so this is that limit and not the network's bandwidth; %s", s.CapGBps, s.Unjudged)
	case s.Unjudged != "":
		r.Why = "measured, and not judged: " + s.Unjudged
	case right == 0:
		r.Why = "measured, and not judged: " + s.Right.Unknown
	default:
		r.Want, r.Source, r.Value.Expected = fmt.Sprintf("%.3g GB/s", right), networkRule+s.Right.Source, right
		if part := median / right; part < networkWarn {
			r.Verdict, r.Why = verify.Warn, fmt.Sprintf("it is %.0f %% of what is expected", 100*part)
			if part < networkFail {
				r.Verdict = verify.Fail
			}
		}
	}
	return r
}

func (s NetworkSeen) latency() verify.Result {
	values := s.values(func(t Traffic) float64 { return t.MedianUs })
	r := verify.Result{Check: "network-latency", Verdict: verify.Pass, Why: "measured, and not judged: no latency of TCP is promised"}
	if len(values) == 0 {
		r.Verdict, r.Why = verify.Blind, "nothing was measured"
		return r
	}
	median := values[len(values)/2]
	r.Found = fmt.Sprintf("%.4g us is the median of pairs' round trips; %.4g to %.4g", median, values[0], values[len(values)-1])
	r.Value = &verify.Value{Number: median, Unit: "us", Lower: true}
	return r
}

// values are those of the measurements that came to something, the smallest first.
func (s NetworkSeen) values(of func(Traffic) float64) []float64 {
	var all []float64
	for _, round := range s.Rounds {
		for _, t := range round {
			if v := of(t); t.Err == "" && v > 0 {
				all = append(all, v)
			}
		}
	}
	slices.Sort(all)
	return all
}

func (s NetworkSeen) matrix(name, unit string, of func(Traffic) float64) verify.Matrix {
	m := verify.Matrix{Name: name, Unit: unit, Lower: unit == "us", Nodes: s.Nodes, Pairs: []verify.Pair{}}
	for i, round := range s.Rounds {
		for _, t := range round {
			a, b := slices.Index(s.Nodes, t.A), slices.Index(s.Nodes, t.B)
			if t.Err == "" && a >= 0 && b >= 0 {
				m.Pairs = append(m.Pairs, verify.Pair{A: a, B: b, Value: of(t), Round: i})
			}
		}
	}
	return m
}
