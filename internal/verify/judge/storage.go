package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

// Parts of the rating of a file system below which its throughput is a warning and a failure. They are muster's own: AWS promises
// the rating of what nothing else uses.
const (
	storageWarn = 0.8
	storageFail = 0.5
	// apart is by what factor a node has to be slower than the others' median to be named.
	apart = 2
)

const storageRule = "muster warns below 80 % of the rating and fails below 50 %; "

// StorageSeen is what the tasks of some nodes told of one mount, and what is right there.
type StorageSeen struct {
	Mount string
	// Tasks are their lines, of all phases.
	Tasks []meter.StorageTask
	// Nodes are those that were asked: one of which nothing came is blind.
	Nodes []string
	Right expect.FileSystem
	// Sums are what programs measured that tell what all nodes come to together, and no node's own.
	Sums []StorageSum
	// Dir is where on the mount it was measured, empty for the mount itself.
	Dir string
	// NetworkMbps is a node's, 0 if it is not known.
	NetworkMbps int
}

// Throughput judges what nodes measured on a mount together: that all could, what it comes to, and who is slower than the others.
func Throughput(s StorageSeen) ([]verify.Result, []verify.Series) {
	all := s.faults()
	var series []verify.Series
	write, read, by := s.Right.Together(len(s.Nodes), s.NetworkMbps)
	for _, kind := range []rateOf{
		{"storage-write", write, by, func(t meter.StorageTask) *meter.StorageRate { return t.Write }},
		{"storage-read", read, by, func(t meter.StorageTask) *meter.StorageRate { return t.Read }},
	} {
		if sum, ok := s.sum(kind.check); ok {
			all = append(all, s.summed(kind, sum))
			continue
		}
		nodes := s.rates(kind)
		if len(nodes) == 0 {
			if len(all) == 0 {
				all = append(all, verify.Result{Check: kind.check, On: s.Mount, Verdict: verify.Blind, Why: "no node told a rate"})
			}
			continue
		}
		all = append(all, s.rated(kind, nodes))
		all = append(all, s.slow(kind, nodes)...)
		series = append(series, s.bars(kind, nodes))
	}
	all = append(all, s.metadata()...)
	return all, series
}

// rateOf is one of the rates of a mount.
type rateOf struct {
	check    string
	expected float64
	by       string
	of       func(meter.StorageTask) *meter.StorageRate
}

// nodeRate is what one node came to.
type nodeRate struct {
	node  string
	bytes int64
	took  float64
	gbps  float64
	blind string
}

// rates are the nodes' own, in the order of Nodes; the tasks of a node add up.
func (s StorageSeen) rates(kind rateOf) []nodeRate {
	var all []nodeRate
	for _, node := range s.Nodes {
		sum := nodeRate{node: node}
		for _, t := range s.Tasks {
			r := kind.of(t)
			if t.Node != node || r == nil || t.Fault != "" {
				continue
			}
			sum.bytes += r.Bytes
			sum.took = max(sum.took, r.Seconds)
			sum.blind = cmp.Or(sum.blind, r.Blind)
		}
		if sum.took > 0 {
			sum.gbps = float64(sum.bytes) / sum.took / 1e9
			all = append(all, sum)
		}
	}
	return all
}

// rated judges what all nodes together come to: their bytes over the time of the last.
func (s StorageSeen) rated(kind rateOf, nodes []nodeRate) verify.Result {
	var bytes int64
	var took float64
	blind := ""
	for _, n := range nodes {
		bytes += n.bytes
		took = max(took, n.took)
		blind = cmp.Or(blind, n.blind)
	}
	return s.held(kind, float64(bytes)/took/1e9, blind, fmt.Sprintf("from %s%s%s", count.Of(len(nodes), "node"), s.by(nodes), s.where()))
}

// held judges a rate against what was bought; how says who measured it.
func (s StorageSeen) held(kind rateOf, gbps float64, blind, how string) verify.Result {
	r := verify.Result{
		Check: kind.check, On: s.Mount, Verdict: verify.Pass, Found: gigabytes(gbps) + " " + how,
		Value: &verify.Value{Number: gbps, Unit: "GB/s", Expected: kind.expected},
	}
	switch {
	case blind != "":
		r.Verdict, r.Why, r.Value = verify.Blind, blind, nil
		r.Hint = "measure with two nodes or more, which read each other's files, and with more data than a node has memory"
		return r
	case kind.expected == 0:
		r.Why = "measured, and not judged: " + cmp.Or(s.Right.Unrated, "no rating is known")
		return r
	}
	r.Want, r.Source = fmt.Sprintf("%s: %s", gigabytes(kind.expected), kind.by), storageRule+s.Right.Source
	s.hold(&r, gbps/kind.expected)
	return r
}

// hold judges a part of the rating.
func (s StorageSeen) hold(r *verify.Result, part float64) {
	if part >= storageWarn {
		return
	}
	r.Verdict = verify.Fail
	if part >= storageFail || s.Right.Soft != "" {
		r.Verdict = verify.Warn
	}
	r.Why = fmt.Sprintf("it is %.0f %% of what was bought", 100*part)
	r.Hint = "see whether other jobs use it now, and on AWS its metrics in CloudWatch"
	if s.Right.Soft != "" {
		r.Why += "; " + s.Right.Soft
	}
}

// slow names nodes that are slower than the others: not with two, where nobody knows which is right.
func (s StorageSeen) slow(kind rateOf, nodes []nodeRate) []verify.Result {
	if len(nodes) < 3 {
		return nil
	}
	var all []verify.Result
	for i, n := range nodes {
		others := slices.Delete(slices.Clone(nodes), i, i+1)
		if usual := median(others); n.blind == "" && n.gbps*apart < usual {
			all = append(all, verify.Result{
				Check: kind.check + "-node", On: n.node, Verdict: verify.Warn, Found: gigabytes(n.gbps) + " on " + s.Mount,
				Want: gigabytes(usual) + ", as the other nodes have at the same time",
				Why:  fmt.Sprintf("it is %.1f times slower than the median of the others", usual/max(n.gbps, 1e-9)),
				Hint: "look at its network, its client's log in the kernel (dmesg), and at what else runs there", Source: "the other nodes of this run; muster names what is slower by a factor of 2",
				Value: &verify.Value{Number: n.gbps, Unit: "GB/s", Expected: usual},
			})
		}
	}
	return all
}

func median(nodes []nodeRate) float64 {
	var all []float64
	for _, n := range nodes {
		all = append(all, n.gbps)
	}
	slices.Sort(all)
	if len(all)%2 == 1 {
		return all[len(all)/2]
	}
	return (all[len(all)/2-1] + all[len(all)/2]) / 2
}

// bars are the nodes' rates, one beside the other.
func (s StorageSeen) bars(kind rateOf, nodes []nodeRate) verify.Series {
	series := verify.Series{Name: kind.check, On: s.Mount, XUnit: "node", YUnit: "GB/s", Source: s.Right.Source}
	if kind.expected > 0 {
		series.Expected = kind.expected / float64(len(s.Nodes))
	}
	for i, n := range nodes {
		series.Points = append(series.Points, verify.Point{X: float64(i + 1), Y: n.gbps})
	}
	return series
}

// metadata tells the rates of operations, which nobody rates: all nodes' together.
func (s StorageSeen) metadata() []verify.Result {
	sum, how := meter.MetadataRates{}, s.where()
	tasks := 0
	for _, t := range s.Tasks {
		if t.Meta != nil && t.Fault == "" {
			tasks, sum.Create, sum.Stat, sum.Remove = tasks+1, sum.Create+t.Meta.Create, sum.Stat+t.Meta.Stat, sum.Remove+t.Meta.Remove
		}
	}
	for _, other := range s.Sums {
		if other.Meta != nil {
			tasks, sum, how = tasks+1, *other.Meta, " by "+other.By+s.where()
		}
	}
	if tasks == 0 {
		return nil
	}
	one := func(check string, rate float64) verify.Result {
		return verify.Result{Check: check, On: s.Mount, Verdict: verify.Pass, Found: fmt.Sprintf("%.0f a second%s", rate, how), Why: "measured, and not judged: no rating is known",
			Value: &verify.Value{Number: rate, Unit: "ops/s"}}
	}
	return []verify.Result{one("storage-create", sum.Create), one("storage-stat", sum.Stat), one("storage-remove", sum.Remove)}
}

func gigabytes(gbps float64) string {
	if gbps < 0.1 {
		return fmt.Sprintf("%.0f MB/s", gbps*1e3)
	}
	return fmt.Sprintf("%.2f GB/s", gbps)
}
