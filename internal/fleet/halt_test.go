package fleet_test

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/slurm"
)

func TestBlockHalts(t *testing.T) {
	r := slurm.Resource{Queue: "q", Name: "r"}
	block := fleet.Block{ID: "cr-1", Resource: r, Start: ago(time.Hour), End: now.Add(24 * time.Hour), Active: true}
	for _, row := range []struct {
		name   string
		change func(*fleet.Block)
		want   fleet.Halt
	}{
		{"active", func(*fleet.Block) {}, fleet.Halt{}},
		{"not_yet", func(b *fleet.Block) { b.Active, b.Start = false, now.Add(time.Hour) }, fleet.Halt{Reason: "capacity block cr-1 begins at 2026-11-21 13:00 UTC"}},
		{"should_be_active_and_is_not", func(b *fleet.Block) { b.Active = false }, fleet.Halt{Reason: "capacity block cr-1 is not active"}},
		{"31_minutes_to_go", func(b *fleet.Block) { b.End = now.Add(31 * time.Minute) }, fleet.Halt{}},
		{"30_minutes_to_go", func(b *fleet.Block) { b.End = now.Add(30 * time.Minute) },
			fleet.Halt{Reason: "capacity block cr-1 ends at 2026-11-21 12:30 UTC", Ending: fleet.AfterJobs}},
		{"over", func(b *fleet.Block) { b.Active, b.End = false, now }, fleet.Halt{Reason: "capacity block cr-1 ended at 2026-11-21 12:00 UTC", Ending: fleet.AfterJobs}},
		{"without_an_end", func(b *fleet.Block) { b.End = time.Time{} }, fleet.Halt{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := block
			row.change(&b)
			if diff := cmp.Diff(row.want, fleet.BlockHalts(now, []fleet.Block{b})[r]); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func TestTally(t *testing.T) {
	node := func(queue string, state fleet.State, busy bool) fleet.Node {
		return fleet.Node{Resource: slurm.Resource{Queue: queue, Name: "r"}, State: state, Busy: busy}
	}
	a, b := node("a", fleet.PoweringUp, false), node("b", fleet.PoweringUp, false)
	nine := slices.Repeat([]fleet.Failed{{Node: a}}, 9)
	nodes := []fleet.Node{a, b}
	protects := func(t *testing.T, tally fleet.Tally, nodes []fleet.Node, want map[string]string) {
		t.Helper()
		if got := tally.Protect(nodes, costly); !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	tally := fleet.Tally{}
	protects(t, tally, nodes, nil)
	tally.Count(nil, nine)
	protects(t, tally, nodes, nil)
	tally.Count([]fleet.Node{b}, []fleet.Failed{{Node: a}})
	protects(t, tally, nodes, map[string]string{"a": "10 nodes in a row failed to boot"})
	protects(t, tally, append(nodes, node("a", fleet.Up, false), node("b", fleet.Up, true)), map[string]string{"a": "10 nodes in a row failed to boot"})
	protects(t, tally, append(nodes, node("a", fleet.Up, true)), nil)
	if got := tally.Protect(nodes, fleet.Limits{}); len(got) > 0 {
		t.Errorf("protects %v without a limit", got)
	}
	tally.Count([]fleet.Node{a}, nine)
	protects(t, tally, nodes, nil)
}

// TestTally_of_what_is_paid_for: the second and the third machine that fail in the same
// way are no chance, and each is paid for.
func TestTally_of_what_is_paid_for(t *testing.T) {
	const mount = "its boot failed at mount file systems: mount /home from 10.0.0.5:/home: exit status 32"
	dear, cheap, unknown, free := slurm.Resource{Queue: "q", Name: "dear"}, slurm.Resource{Queue: "q", Name: "cheap"}, slurm.Resource{Queue: "q", Name: "unknown"}, slurm.Resource{Queue: "q", Name: "free"}
	limits := fleet.Limits{Failures: 10, Rates: map[slurm.Resource]fleet.Rate{
		dear: {Type: "p5.48xlarge", USD: 55.04}, cheap: {Type: "c6i.large", USD: 0.085}, unknown: {Type: "p6-b300.48xlarge"}}}
	fails := func(of slurm.Resource, reasons ...string) (all []fleet.Failed) {
		for _, why := range reasons {
			all = append(all, fleet.Failed{Node: fleet.Node{Resource: of}, Why: why})
		}
		return all
	}
	booting := func(n int) []fleet.Node {
		return slices.Repeat([]fleet.Node{{Resource: dear, State: fleet.PoweringUp}}, n)
	}
	for _, row := range []struct {
		name   string
		failed []fleet.Failed
		nodes  []fleet.Node
		want   string
	}{
		{"one", fails(dear, mount), nil, ""},
		{"two", fails(dear, mount, strings.Replace(mount, "10.0.0.5", "10.0.0.6", 1)), booting(1), "2 nodes in a row failed to boot in the same way (each try is paid: p5.48xlarge at $55.04 an hour)"},
		{"two_of_many", fails(dear, mount, mount), booting(78), ""},
		{"two_of_many_and_a_job", fails(dear, mount, mount), []fleet.Node{{Resource: cheap, State: fleet.Up, Busy: true}}, ""},
		{"two_that_differ", fails(dear, mount, "its boot failed at look at health: CUDA does not start"), nil, ""},
		{"two_of_two_resources", append(fails(cheap, mount), fails(dear, mount)...), nil, ""},
		{"two_cheap", fails(cheap, mount, mount), nil, ""},
		{"three_cheap", fails(cheap, mount, mount, mount), nil, "3 nodes in a row failed to boot in the same way (each try is paid: c6i.large at $0.09 an hour)"},
		{"two_without_a_price", fails(unknown, mount, mount), nil, "2 nodes in a row failed to boot in the same way (each try is paid: p6-b300.48xlarge, whose price is not in the list)"},
		{"nine_of_this_machine", fails(free, slices.Repeat([]string{mount}, 9)...), nil, ""},
		{"launches_that_cost_nothing", fails(dear, "", "", ""), nil, ""},
		{"ten_that_differ", fails(dear, "a", "b", "a", "b", "a", "b", "a", "b", "a", "b"), booting(78), "10 nodes in a row failed to boot (each try is paid: p5.48xlarge at $55.04 an hour)"},
	} {
		t.Run(row.name, func(t *testing.T) {
			tally := fleet.Tally{}
			tally.Count(nil, row.failed)
			if got := tally.Protect(row.nodes, limits)["q"]; got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
			tally.Count([]fleet.Node{{Resource: dear}}, nil)
			if got := tally.Protect(row.nodes, limits); len(got) > 0 {
				t.Errorf("after a boot that succeeded: %q", got)
			}
		})
	}
}

func TestAddresses(t *testing.T) {
	at := netip.MustParseAddr("10.0.0.7")
	n := func(name string, state fleet.State, address string) fleet.Node {
		return fleet.Node{Name: name, State: state, Address: address}
	}
	w := fleet.World{
		Nodes: []fleet.Node{
			n("new", fleet.PoweringUp, "new"), n("right", fleet.Up, "10.0.0.7"), n("wrong", fleet.Up, "10.0.0.8"), n("bare", fleet.PoweringUp, "bare"),
			n("off", fleet.PoweredDown, "10.0.0.7"), n("reset", fleet.PoweredDown, "reset"), n("ending", fleet.PoweringDown, "10.0.0.9"),
			n("not_ended", fleet.PoweredDown, "10.0.0.7"), n("down", fleet.Down, "10.0.0.9"), n("unknown", fleet.Up, ""), n("unaddressed", fleet.Up, "10.0.0.1"),
		},
		Instances: []provider.Instance{{Node: "unaddressed"}},
	}
	for _, node := range []string{"new", "right", "wrong", "ending", "not_ended", "down", "unknown"} {
		w.Instances = append(w.Instances, provider.Instance{Node: node, Address: at})
	}
	want := map[string]string{"new": "10.0.0.7", "wrong": "10.0.0.7", "off": "off"}
	if diff := cmp.Diff(want, fleet.Addresses(w)); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestHint(t *testing.T) {
	for cause, want := range map[provider.Cause]bool{
		provider.Limit: true, provider.Permission: true, provider.Configuration: true,
		provider.Capacity: false, provider.Throttled: false, provider.Unknown: false,
	} {
		if got := fleet.Hint(cause); (got != "") != want {
			t.Errorf("of %s: %q", cause, got)
		}
	}
}
