package expect_test

import (
	"math"
	"testing"

	"github.com/muster-hpc/muster/internal/verify/expect"
)

func TestBusBandwidth(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		group      expect.Group
		bytes      int64
		want       float64
		confidence expect.Confidence
		exact      bool
	}{
		{expect.Group{InstanceType: "p5.48xlarge", Nodes: 2, GPUs: 8, Collective: "all_reduce"}, 4 * gib, 466, expect.Measured, true},
		{expect.Group{InstanceType: "p5.48xlarge", Nodes: 2, GPUs: 8, Collective: "all_reduce"}, 17 * gib, 487, expect.Measured, true},
		{expect.Group{InstanceType: "p5.48xlarge", Nodes: 2, GPUs: 8, Collective: "alltoall"}, gib, 79.1, expect.Measured, false},
		{expect.Group{InstanceType: "p5.48xlarge", Nodes: 10, GPUs: 8, Collective: "all_reduce"}, 4 * gib, 364, expect.Modelled, true},
		{expect.Group{InstanceType: "p5e.48xlarge", Nodes: 2, GPUs: 8, Collective: "all_reduce"}, 16 * gib, 487.5, expect.Extrapolated, true},
		{expect.Group{InstanceType: "p4de.24xlarge", Nodes: 2, GPUs: 8, Collective: "all_reduce"}, 2 * gib, 78.3, expect.Measured, true},
		{expect.Group{InstanceType: "p4d.24xlarge", Nodes: 8, GPUs: 8, Collective: "all_reduce"}, 2 * gib, 45.5, expect.Extrapolated, true},
		{expect.Group{InstanceType: "p6-b200.48xlarge", Nodes: 1, GPUs: 8, Collective: "all_reduce"}, 16 * gib, 846, expect.Measured, true},
		{expect.Group{InstanceType: "p6-b300.48xlarge", Nodes: 4, GPUs: 8, Collective: "all_gather"}, 16 * gib, 691.6, expect.Extrapolated, true},
		{expect.Group{InstanceType: "p5en.48xlarge", Nodes: 3, GPUs: 8, Collective: "all_reduce"}, 16 * gib, 364, expect.Extrapolated, true},
	} {
		got := expect.BusBandwidth(c.group)
		gbps, exact := got.For(c.bytes)
		if math.Abs(gbps-c.want) > 0.1 || got.Confidence != c.confidence || exact != c.exact || got.Source == "" || got.Unknown != "" {
			t.Errorf("%+v: %v %v of %+v", c.group, gbps, exact, got)
		}
	}
	for _, g := range []expect.Group{
		{InstanceType: "p5.48xlarge", Nodes: 2, GPUs: 8, Collective: "broadcast"},
		{InstanceType: "p5.48xlarge", Nodes: 10, GPUs: 8, Collective: "alltoall"},
		{InstanceType: "p5.48xlarge", Nodes: 2, GPUs: 4, Collective: "all_reduce"},
		{InstanceType: "g5.xlarge", Nodes: 2, GPUs: 1, Collective: "all_reduce"},
		{InstanceType: "c5.large", Nodes: 2, GPUs: 0, Collective: "all_reduce"},
		{Nodes: 4, GPUs: 8, Collective: "all_reduce"},
	} {
		if got := expect.BusBandwidth(g); got.Unknown == "" || len(got.At) > 0 {
			t.Errorf("%+v: %+v", g, got)
		}
	}
}

func TestTraffic(t *testing.T) {
	if gbps, _ := expect.Traffic("g5.8xlarge", 4).For(1); gbps != 2.5 {
		t.Errorf("g5.8xlarge with four connections: %v GB/s, want 20 Gbit/s", gbps)
	}
	if gbps, _ := expect.Traffic("g5.8xlarge", 16).For(1); gbps != 3.125 {
		t.Errorf("g5.8xlarge with sixteen connections: %v GB/s, want 25 Gbit/s", gbps)
	}
	for _, unknown := range []string{"p5.48xlarge", "", "nonsense"} {
		if got := expect.Traffic(unknown, 4); got.Unknown == "" {
			t.Errorf("%s: %+v", unknown, got)
		}
	}
}

// TestBeyond measures what is published of large messages, where GPUs hold them.
func TestBeyond(t *testing.T) {
	for _, c := range []struct {
		instanceType string
		nodes        int
		memoryMiB    int64
		want         int64
	}{
		{"p5en.48xlarge", 1, 144384, 8 << 30},
		{"p5.48xlarge", 1, 81920, 8 << 30},
		{"p4de.24xlarge", 1, 81920, 16 << 30},
		{"p4d.24xlarge", 1, 40960, 0},
		{"p6-b200.48xlarge", 1, 183359, 0},
		{"p5.48xlarge", 2, 81920, 0},
		{"g5.xlarge", 2, 22888, 0},
	} {
		right := expect.BusBandwidth(expect.Group{InstanceType: c.instanceType, Nodes: c.nodes, GPUs: 8, Collective: "all_reduce"})
		if got := right.Beyond(4<<30, c.memoryMiB); got != c.want {
			t.Errorf("%d × %s: got %d, want %d", c.nodes, c.instanceType, got, c.want)
		}
	}
}
