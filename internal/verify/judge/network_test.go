package judge_test

import (
	"os"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
	"github.com/muster-hpc/muster/internal/verify/judge"
	"github.com/muster-hpc/muster/internal/verify/meter"
	"github.com/muster-hpc/muster/internal/verify/pairs"
)

func resultOf(t *testing.T, all []verify.Result, check string) verify.Result {
	t.Helper()
	for _, r := range all {
		if r.Check == check {
			return r
		}
	}
	t.Errorf("there is no %s: %+v", check, all)
	return verify.Result{}
}

// TestCollectiveOfSamples judges what p5 and p4de have measured by what is published of them, and of more nodes.
func TestCollectiveOfSamples(t *testing.T) {
	for _, c := range []struct {
		file  string
		group expect.Group
		want  verify.Verdict
	}{
		{"all_reduce-2x-p5-srun-l.txt", expect.Group{InstanceType: "p5.48xlarge", Nodes: 2, GPUs: 8, Collective: "all_reduce"}, verify.Pass},
		{"all_reduce-2x-p4de-srun-l.txt", expect.Group{InstanceType: "p4de.24xlarge", Nodes: 2, GPUs: 8, Collective: "all_reduce"}, verify.Pass},
		{"all_reduce-2x-p4de-srun-l.txt", expect.Group{InstanceType: "p5.48xlarge", Nodes: 2, GPUs: 8, Collective: "all_reduce"}, verify.Fail},
		{"all_reduce-2x-p4de-srun-l.txt", expect.Group{InstanceType: "p5e.48xlarge", Nodes: 2, GPUs: 8, Collective: "all_reduce"}, verify.Fail},
		{"all_reduce-2x-p5-srun-l.txt", expect.Group{InstanceType: "p5.48xlarge", Nodes: 10, GPUs: 8, Collective: "all_reduce"}, verify.Pass},
		{"all_reduce-2x-p5-srun-l.txt", expect.Group{InstanceType: "p5.48xlarge", Nodes: 2, GPUs: 8, Collective: "reduce"}, verify.Pass},
	} {
		text, err := os.ReadFile("../meter/testdata/nccl-tests/" + c.file)
		if err != nil {
			t.Fatal(err)
		}
		all, series := judge.Collective(judge.CollectiveSeen{Collective: meter.ReadCollective(text), Right: expect.BusBandwidth(c.group)})
		if r := resultOf(t, all, "collective-bandwidth"); r.Verdict != c.want || len(series) != 1 {
			t.Errorf("%s as %+v: %+v", c.file, c.group, r)
		}
		if r := resultOf(t, all, "collective-data"); r.Verdict != verify.Pass {
			t.Errorf("%s: %+v", c.file, r)
		}
	}
}

// TestCollective_oneRank: what one GPU measures with itself is no bandwidth, though its data are right.
func TestCollective_oneRank(t *testing.T) {
	text, err := os.ReadFile("../meter/testdata/nccl-tests/all_reduce-1xh200.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, series := judge.Collective(judge.CollectiveSeen{Collective: meter.ReadCollective(text), Want: 1})
	if r := resultOf(t, all, "all-reduce-bandwidth"); r.Verdict != verify.Skip || r.Value != nil || len(series) != 0 {
		t.Errorf("%+v, %+v", r, series)
	}
	if r := resultOf(t, all, "all-reduce-data"); r.Verdict != verify.Pass {
		t.Errorf("%+v", r)
	}
}

func TestCollective(t *testing.T) {
	row := func(bytes int64, bus float64, wrong int64) meter.Row {
		return meter.Row{Bytes: bytes, OutOfPlace: &meter.Measure{TimeUs: 1, BusGBps: bus, Wrong: &wrong}}
	}
	seen := func(rows ...meter.Row) judge.CollectiveSeen {
		return judge.CollectiveSeen{Collective: meter.Collective{Name: "all_reduce", Rows: rows, Reading: meter.Reading{Whole: true}}}
	}
	wrong := seen(row(8, 1, 0), row(16, 1, 3))
	small := seen(row(1<<20, 300, 0))
	small.Right = expect.BusBandwidth(expect.Group{InstanceType: "p5.48xlarge", Nodes: 2, GPUs: 8, Collective: "all_reduce"})
	slower := seen(row(8, 0.001, 0), row(1<<20, 0.5, 0))
	slower.Earlier = &verify.Series{Points: []verify.Point{{X: 1 << 20, Y: 1}}}
	loose := slower
	loose.Loose = "all nodes share one machine"
	// One node of p5en has a published bandwidth of 8 GiB alone: a little less with smaller messages says nothing, half of it does.
	oneNode := expect.BusBandwidth(expect.Group{InstanceType: "p5en.48xlarge", Nodes: 1, GPUs: 8, Collective: "all_reduce"})
	soft, far := seen(row(4<<30, 360, 0)), seen(row(4<<30, 200, 0))
	soft.Right, far.Right = oneNode, oneNode
	apart := seen(row(4<<30, 0, 0))
	apart.Right, apart.Want, apart.Devices = oneNode, 8, []meter.Device{{Rank: 0}, {Rank: 0}}
	unchecked := seen(meter.Row{Bytes: 8, InPlace: &meter.Measure{TimeUs: 1, BusGBps: 1}})
	cut := seen(row(8, 1, 0))
	cut.Whole, cut.Problems = false, []string{"the end is missing"}
	for _, c := range []struct {
		name, check string
		seen        judge.CollectiveSeen
		want        verify.Verdict
	}{
		{"wrong_values_fail", "all-reduce-data", wrong, verify.Fail},
		{"no_rows_are_blind", "all-reduce-data", seen(), verify.Blind},
		{"unchecked_data_are_blind", "all-reduce-data", unchecked, verify.Blind},
		{"a_cut_is_blind", "all-reduce-sizes", cut, verify.Blind},
		{"small_messages_say_nothing", "all-reduce-bandwidth", small, verify.Blind},
		{"less_than_larger_messages_warns", "all-reduce-bandwidth", soft, verify.Warn},
		{"less_than_half_fails", "all-reduce-bandwidth", far, verify.Fail},
		{"ranks_alone_are_blind", "all-reduce-ranks", apart, verify.Blind},
		{"half_of_before_fails", "all-reduce-bandwidth", slower, verify.Fail},
		{"and_warns_on_one_machine", "all-reduce-bandwidth", loose, verify.Warn},
	} {
		all, _ := judge.Collective(c.seen)
		if r := resultOf(t, all, c.check); r.Verdict != c.want {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}

func TestNetwork(t *testing.T) {
	fast := judge.Traffic{A: "a", B: "b", AB: 3, BA: 2.4, MedianUs: 40, P99Us: 80}
	seen := judge.NetworkSeen{Nodes: []string{"a", "b", "c", "d"}, Right: expect.Traffic("g5.8xlarge", 4), Rounds: [][]judge.Traffic{
		{fast, {A: "c", B: "d", Err: "refused"}},
	}}
	all, matrices := judge.Network(seen)
	if r := resultOf(t, all, "network-pair"); r.Verdict != verify.Warn || r.On != "c+d" {
		t.Errorf("got %+v", r)
	}
	if r := resultOf(t, all, "network-bandwidth"); r.Verdict != verify.Pass || r.Value.Number != 2.4 || r.Value.Expected != 2.5 {
		t.Errorf("got %+v", r)
	}
	if len(matrices) != 2 || len(matrices[0].Pairs) != 1 || !matrices[1].Lower {
		t.Errorf("got %+v", matrices)
	}
	seen.Suspects = []pairs.Suspect{{Node: "d", Dead: true, Sure: true, Confidence: 99.99, Evidence: []string{"round 0: c with d: refused"}}}
	all, _ = judge.Network(seen)
	if r := resultOf(t, all, "network-node"); r.Verdict != verify.Fail || r.On != "d" || !strings.Contains(r.Found, "no answer") {
		t.Errorf("got %+v", r)
	}
	seen.Right = expect.Traffic("p5.48xlarge", 4)
	all, _ = judge.Network(seen)
	if r := resultOf(t, all, "network-bandwidth"); r.Verdict != verify.Pass || !strings.Contains(r.Why, "not judged") {
		t.Errorf("got %+v", r)
	}
	if all, _ := judge.Network(judge.NetworkSeen{Nodes: []string{"a"}}); all[0].Verdict != verify.Skip {
		t.Errorf("one node: %+v", all)
	}
}

// TestNetwork_counts_pairs holds that a pair which measured in several rounds is one pair.
func TestNetwork_counts_pairs(t *testing.T) {
	ab, cd := judge.Traffic{A: "a", B: "b", AB: 1, BA: 1, MedianUs: 1}, judge.Traffic{A: "c", B: "d", AB: 1, BA: 1, MedianUs: 1}
	ba := judge.Traffic{A: "b", B: "a", AB: 1, BA: 1, MedianUs: 1}
	for want, rounds := range map[string][][]judge.Traffic{
		"2 pairs measured in 1 round":          {{ab, cd}},
		"2 pairs measured 4 times in 2 rounds": {{ab, cd}, {ba, cd}},
	} {
		results, _ := judge.Network(judge.NetworkSeen{Nodes: []string{"a", "b", "c", "d"}, Rounds: rounds})
		if r := resultOf(t, results, "network-pairs"); r.Found != want {
			t.Errorf("%q, want %q", r.Found, want)
		}
	}
}

// TestNetwork_limited has a bandwidth under muster's own limit be called that limit, and the network's be called what it is.
func TestNetwork_limited(t *testing.T) {
	for _, row := range []struct {
		name string
		cap  float64
		want string
	}{
		{"limited", 0.02, "measured, and not judged: muster limits each node to 0.02 GB/s here, so this is that limit and not the network's bandwidth; a rehearsal"},
		{"unlimited", 0, "measured, and not judged: a rehearsal"},
	} {
		t.Run(row.name, func(t *testing.T) {
			all, _ := judge.Network(judge.NetworkSeen{Nodes: []string{"a", "b"}, CapGBps: row.cap, Unjudged: "a rehearsal",
				Rounds: [][]judge.Traffic{{{A: "a", B: "b", AB: 0.0197, BA: 0.0198}}}})
			if r := resultOf(t, all, "network-bandwidth"); r.Why != row.want || r.Verdict != verify.Pass {
				t.Errorf("got %q, want %q", r.Why, row.want)
			}
		})
	}
}
