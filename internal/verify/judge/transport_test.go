package judge_test

import (
	"testing"

	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
	"github.com/muster-hpc/muster/internal/verify/judge"
	"github.com/muster-hpc/muster/internal/verify/meter"
)

func TestTransport(t *testing.T) {
	const direct, network = "NCCL INFO NET/OFI Selected provider is efa, fabric is efa-direct (found 16 nics)\n", "NCCL INFO Using network Libfabric\n"
	has := judge.Fabric{Devices: 16, Source: "the catalogue"}
	for _, c := range []struct {
		name, log string
		efa       judge.Fabric
		check     string
		want      verify.Verdict
	}{
		{"tcp", "NCCL INFO Using network Socket\n", has, "nccl-network", verify.Fail},
		{"infiniband", "NCCL INFO Using network IB\n", has, "nccl-network", verify.Fail},
		{"another_plugin", direct + "NCCL INFO Using network UCX\n", has, "nccl-network", verify.Fail},
		{"tcp_by_libfabric", "NCCL INFO NET/OFI Selected provider is tcp, fabric is 10.0.0.0/16 (found 1 nics)\n" + network, has, "nccl-network", verify.Fail},
		{"a_layer_over_efa", "NCCL INFO NET/OFI Selected provider is efa;ofi_rxd, fabric is efa (found 16 nics)\n" + network, has, "nccl-network", verify.Fail},
		{"one_rank_by_tcp", direct + network + "NCCL INFO Using network Socket\n", has, "nccl-network", verify.Fail},
		{"one_channel_by_tcp", direct + network + "NCCL INFO Channel 00/0 : 3[3] -> 14[6] [send] via NET/Socket/0\n", has, "nccl-network", verify.Fail},
		{"efa", direct + network + "NCCL INFO Channel 00/0 : 3[3] -> 14[6] [send] via NET/Libfabric/3/GDRDMA\n", has, "nccl-network", verify.Pass},
		{"efa_as_it_was", "NCCL INFO NET/OFI Selected Provider is efa (found 16 nics)\nNCCL INFO Using network AWS Libfabric\nNCCL INFO Channel 00 : 3[3] -> 14[6] [send] via NET/AWS Libfabric/1/GDRDMA\n", has, "nccl-network", verify.Pass},
		{"no_efa", "NCCL INFO Using network Socket\n", judge.Fabric{None: "g5.xlarge has no EFA"}, "nccl-network", verify.Skip},
		{"nobody_knows", "NCCL INFO Using network Socket\n", judge.Fabric{Blind: "no sysfs"}, "nccl-network", verify.Blind},
		{"silence", "hello\n", has, "nccl-network", verify.Blind},
		{"no_provider", network, has, "nccl-network", verify.Blind},
		{"no_network", direct, has, "nccl-network", verify.Blind},
		{"all_nics", direct + network, has, "nccl-nics", verify.Pass},
		{"one_nic_less", direct + "NCCL INFO NET/OFI Selected provider is efa, fabric is efa (found 15 nics)\n", has, "nccl-nics", verify.Fail},
		{"one_nic_less_as_it_was", "NCCL INFO NET/OFI Selected Provider is efa (found 3 nics)\n", judge.Fabric{Devices: 4}, "nccl-nics", verify.Fail},
		{"old_plugin", "NCCL INFO NET/OFI Selected Provider is efa\n", has, "nccl-nics", verify.Blind},
	} {
		all := judge.Transport(judge.TransportSeen{On: "n1", NCCL: meter.ReadNCCL([]byte(c.log)), EFA: c.efa})
		r := resultOf(t, all, c.check)
		if r.Verdict != c.want || r.Verdict != verify.Pass && r.Why == "" {
			t.Errorf("%s: %+v", c.name, r)
		}
		if required := c.efa.Devices > 0; r.Required != required {
			t.Errorf("%s: required is %t", c.name, r.Required)
		}
	}
}

// TestFabricOf knows a machine's EFA by its type, and else by its own devices: what nobody knows is not that there is none.
func TestFabricOf(t *testing.T) {
	devices := func(l verify.Look[[]string]) verify.Facts { return verify.Facts{EFA: verify.EFAFacts{Devices: l}} }
	node := func(instanceType string) expect.Node {
		return expect.Expected(expect.Subject{Role: expect.Compute, Type: instanceType})
	}
	two := devices(verify.Saw([]string{"rdmap0s6", "rdmap0s7"}))
	for _, c := range []struct {
		name        string
		facts       verify.Facts
		node        expect.Node
		devices     int
		none, blind bool
	}{
		{"by_type", two, node("p5.48xlarge"), 32, false, false},
		{"a_type_without", two, node("g5.xlarge"), 0, true, false},
		{"unknown_type_with_devices", two, node(""), 2, false, false},
		{"unknown_type_without", devices(verify.Saw([]string{})), node("a9.huge"), 0, true, false},
		{"unknown_type_unseen", devices(verify.Unseen[[]string]("no right")), node(""), 0, false, true},
	} {
		got := judge.FabricOf(c.facts, c.node)
		if got.Devices != c.devices || (got.None != "") != c.none || (got.Blind != "") != c.blind {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	some := judge.Fabric{Devices: 16}
	for _, c := range []struct {
		all  []judge.Fabric
		want judge.Fabric
	}{
		{[]judge.Fabric{some, {Devices: 15}, some}, judge.Fabric{Devices: 15}},
		{[]judge.Fabric{some, {Blind: "x"}, some}, judge.Fabric{Blind: "x"}},
		{[]judge.Fabric{some, {Blind: "x"}, {None: "y"}}, judge.Fabric{None: "y"}},
	} {
		if got := judge.Fewest(c.all); got != c.want {
			t.Errorf("%+v: got %+v", c.all, got)
		}
	}
	if judge.Fewest(nil).Blind == "" {
		t.Error("nobody is not blind")
	}
}

func TestCounters(t *testing.T) {
	at := func(tx, alive int64) verify.Look[map[string]int64] {
		return verify.Saw(map[string]int64{"tx_bytes": tx, "tx_pkts": tx, "keep_alive_rcvd": alive})
	}
	has := judge.Fabric{Devices: 4}
	for _, c := range []struct {
		name string
		seen judge.CountersSeen
		want verify.Verdict
	}{
		{"rose", judge.CountersSeen{Before: at(5, 0), After: at(9<<30, 1), Nodes: 2, Used: true, EFA: has}, verify.Pass},
		{"only_keep_alive", judge.CountersSeen{Before: at(5, 0), After: at(5, 9), Nodes: 2, Used: true, EFA: has}, verify.Fail},
		{"none_rose", judge.CountersSeen{Before: at(5, 0), After: at(5, 0), Nodes: 2, Used: true, EFA: has}, verify.Fail},
		{"began_anew", judge.CountersSeen{Before: at(5, 0), After: at(0, 0), Nodes: 2, Used: true, EFA: has}, verify.Fail},
		{"unread", judge.CountersSeen{Before: at(5, 0), Nodes: 2, Used: true, EFA: has}, verify.Blind},
		{"unread_before", judge.CountersSeen{Before: verify.Unseen[map[string]int64]("no counters"), After: at(7, 0), Nodes: 2, Used: true, EFA: has}, verify.Blind},
		{"not_used", judge.CountersSeen{Before: at(5, 0), After: at(5, 0), Nodes: 2, EFA: has}, verify.Skip},
		{"one_node", judge.CountersSeen{Before: at(5, 0), After: at(5, 0), Nodes: 1, Used: true, EFA: has}, verify.Skip},
		{"no_efa", judge.CountersSeen{Nodes: 2, EFA: judge.Fabric{None: "no EFA"}}, verify.Skip},
	} {
		c.seen.Node = "n1"
		if r := judge.Counters(c.seen); r.Verdict != c.want || r.Verdict != verify.Pass && r.Why == "" || r.Verdict == verify.Blind && !r.Required {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
}
