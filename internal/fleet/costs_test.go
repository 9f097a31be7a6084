package fleet_test

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/slurm"
)

// costly are the limits of a place that costs money.
var costly = fleet.Limits{Boot: 15 * time.Minute, Retry: time.Minute, Short: 10 * time.Minute, Impaired: 3 * time.Minute, Orphan: 5 * time.Minute, Failures: 10}

func launchError(cause provider.Cause, code string) error {
	return &provider.LaunchError{Cause: cause, Code: code, Message: "no \"luck\"\ntoday"}
}

func TestLaunchReason(t *testing.T) {
	for _, row := range []struct {
		err  error
		want string
	}{
		{errors.New("no such node"), "muster: launch failed: no such node"},
		{launchError(provider.Capacity, "InsufficientInstanceCapacity"), "muster: launch failed, capacity: (Code:InsufficientInstanceCapacity) no 'luck' today"},
		{fmt.Errorf("launch q: %w", launchError(provider.Limit, "VcpuLimitExceeded")), "muster: launch failed, limit: launch q: (Code:VcpuLimitExceeded) no 'luck' today"},
		{launchError(provider.Unknown, "InternalError"), "muster: launch failed: (Code:InternalError) no 'luck' today"},
		{fmt.Errorf("q-2 did not start: %w", provider.ErrIncomplete), "muster: q-2 did not start: it goes with others of its job"},
		{launchError("", "X"), "muster: launch failed: (Code:X) no 'luck' today"},
	} {
		if got := fleet.LaunchReason(row.err); got != row.want {
			t.Errorf("got  %s\nwant %s", got, row.want)
		}
	}
}

// A node of q/r failed for a reason; others are as they are.
func TestDecide_remembers_what_failed(t *testing.T) {
	r, other := slurm.Resource{Queue: "q", Name: "r"}, slurm.Resource{Queue: "q", Name: "s"}
	failed := func(cause provider.Cause, since time.Duration) fleet.Node {
		n := down(fleet.LaunchReason(launchError(cause, "C")), since)
		n.Name, n.Resource = "f", r
		return n
	}
	node := func(name string, of slurm.Resource, state fleet.State) fleet.Node {
		return fleet.Node{Name: name, Resource: of, State: state}
	}
	static := node("st", r, fleet.PoweredDown)
	static.Static = true
	held := fleet.Node{Name: "h", Resource: r, State: fleet.PoweredDown, Closed: true, Reason: "bad fan"}
	sibling := down("muster: no capacity in q/r: (Code:C) no 'luck' today", time.Second)
	sibling.Name, sibling.Resource = "b", r
	all := []fleet.Node{node("a", r, fleet.PoweredDown), static, held, node("up", r, fleet.Up), node("x", other, fleet.PoweredDown), node("y", other, fleet.PoweringUp), node("z", r, fleet.PoweringUp)}
	short := fleet.Action{Kind: fleet.SetDown, Nodes: []string{"a", "st", "z"}, Reason: "muster: no capacity in q/r: (Code:C) no 'luck' today"}
	launch := fleet.Action{Kind: fleet.Launch, Nodes: []string{"y"}, Reason: "resumed by Slurm"}
	launchBoth := fleet.Action{Kind: fleet.Launch, Nodes: []string{"y", "z"}, Reason: "resumed by Slurm"}
	powerUp := fleet.Action{Kind: fleet.PowerUp, Nodes: []string{"st"}, Reason: "static nodes are always on"}
	again := fleet.Action{Kind: fleet.PowerDown, Nodes: []string{"f"}, Reason: "trying again after a failed launch"}
	for _, row := range []struct {
		name    string
		nodes   []fleet.Node
		forgive bool
		want    []fleet.Action
	}{
		{"capacity_just_now", append(all, failed(provider.Capacity, time.Minute)), false, []fleet.Action{short, launch}},
		{"limit_just_now", append(all, failed(provider.Limit, time.Minute)), false, []fleet.Action{short, launch}},
		{"capacity_long_ago", append(all, failed(provider.Capacity, 10*time.Minute)), false, []fleet.Action{again, powerUp, launchBoth}},
		{"two_failed_at_different_times", append(all, failed(provider.Capacity, 10*time.Minute), func() fleet.Node {
			n := failed(provider.Capacity, 9*time.Minute)
			n.Name = "g"
			return n
		}()), false, []fleet.Action{short, again, launch}},
		{"sibling_while_short", []fleet.Node{sibling, failed(provider.Capacity, time.Minute)}, false, nil},
		{"sibling_when_it_is_over", []fleet.Node{sibling, failed(provider.Capacity, 10*time.Minute)}, false, []fleet.Action{
			{Kind: fleet.PowerDown, Nodes: []string{"b"}, Reason: "there may be capacity again"}, again}},
		{"unknown_just_now", append(all, failed(provider.Unknown, time.Second)), false, []fleet.Action{powerUp, launchBoth}},
		{"unknown_a_minute_ago", []fleet.Node{failed(provider.Unknown, time.Minute)}, false, []fleet.Action{again}},
		{"configuration", append(all, failed(provider.Configuration, 24*time.Hour)), false, []fleet.Action{powerUp, launchBoth}},
		{"permission", []fleet.Node{failed(provider.Permission, 24*time.Hour)}, false, nil},
		{"permission_and_somebody_mended_it", []fleet.Node{failed(provider.Permission, time.Second)}, true, []fleet.Action{
			{Kind: fleet.PowerDown, Nodes: []string{"f"}, Reason: "trying again: the fleet was started"}}},
		{"capacity_and_somebody_says_try", []fleet.Node{sibling, failed(provider.Capacity, time.Second)}, true, []fleet.Action{
			{Kind: fleet.PowerDown, Nodes: []string{"b"}, Reason: "there may be capacity again"},
			{Kind: fleet.PowerDown, Nodes: []string{"f"}, Reason: "trying again: the fleet was started"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := fleet.World{Now: now, Limits: costly, Nodes: row.nodes, Forgive: row.forgive, Instances: []provider.Instance{{Node: "up", ID: "i-1", Started: ago(time.Hour)}}}
			if row.nodes[0].Name != "a" {
				w.Instances = nil
			}
			if diff := cmp.Diff(row.want, fleet.Decide(w)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// Slurm writes its own reason over ours when its ResumeTimeout is over.
func TestDecide_remembers_longer_than_Slurm(t *testing.T) {
	reason := fleet.LaunchReason(launchError(provider.Capacity, "C"))
	n := down("ResumeTimeout reached", time.Second)
	n.Name, n.Resource = "n-1", slurm.Resource{Queue: "q", Name: "r"}
	w := fleet.World{Now: now, Limits: costly, Nodes: []fleet.Node{n}, Told: map[string]fleet.Told{"n-1": {Reason: reason, At: ago(5 * time.Minute)}}}
	if diff := cmp.Diff([]fleet.Action{act(fleet.SetDown, reason)}, fleet.Decide(w)); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	w.Nodes[0].Reason, w.Nodes[0].ReasonTime = reason, now
	if got := fleet.Decide(w); len(got) > 0 {
		t.Errorf("once more: %+v", got)
	}
	w.Now = now.Add(5 * time.Minute)
	if diff := cmp.Diff([]fleet.Action{act(fleet.PowerDown, "trying again after a failed launch")}, fleet.Decide(w)); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestDecide_weighs_doubts(t *testing.T) {
	impaired := func(since time.Duration) provider.HealthEvent {
		return provider.HealthEvent{Code: "impaired", Text: "system status", Since: ago(since)}
	}
	event := func(code string, in time.Duration) provider.HealthEvent {
		return provider.HealthEvent{Code: code, NotBefore: now.Add(in)}
	}
	up := func(change func(*fleet.Node)) fleet.Node {
		n := fleet.Node{Name: "n-1", State: fleet.Up}
		change(&n)
		return n
	}
	idle := up(func(*fleet.Node) {})
	busy := up(func(n *fleet.Node) { n.Busy, n.Until = true, now.Add(time.Hour) })
	silent := up(func(n *fleet.Node) { n.Busy, n.Silent = true, true })
	endless := up(func(n *fleet.Node) { n.Busy = true })
	drained := up(func(n *fleet.Node) { n.Closed, n.Reason = true, "muster: x" })
	draining := up(func(n *fleet.Node) { n.Closed, n.Busy, n.Reason = true, true, "muster: x" })
	held := up(func(n *fleet.Node) { n.Closed, n.Reason = true, "bad fan" })
	booting := fleet.Node{Name: "n-1", State: fleet.PoweringUp}
	const why = "its instance has been impaired for 3m0s: system status"
	drain := func(reason string) []fleet.Action { return []fleet.Action{act(fleet.Drain, "muster: "+reason)} }
	replace := func(reason string) []fleet.Action {
		return []fleet.Action{act(fleet.Drain, "muster: "+reason), act(fleet.PowerDown, reason)}
	}
	lose := func(reason string) []fleet.Action {
		return []fleet.Action{act(fleet.SetDown, "muster: "+reason), act(fleet.PowerDown, reason)}
	}
	for _, row := range []struct {
		name  string
		node  fleet.Node
		event provider.HealthEvent
		want  []fleet.Action
	}{
		{"impaired_for_a_moment", idle, impaired(time.Minute), nil},
		{"impaired_and_idle", idle, impaired(3 * time.Minute), replace(why)},
		{"impaired_and_busy", busy, impaired(3 * time.Minute), drain(why)},
		{"impaired_busy_and_silent", silent, impaired(3 * time.Minute), lose(why)},
		{"impaired_for_a_moment_and_silent", silent, impaired(time.Minute), nil},
		{"impaired_while_it_boots", booting, impaired(3 * time.Minute), []fleet.Action{boot(fleet.Terminate, why), boot(fleet.Launch, why)}},
		{"event_after_the_job", busy, event("system-reboot", 2*time.Hour), drain("system-reboot is announced for 2026-11-21 14:00 UTC")},
		{"event_before_the_job_ends", busy, event("system-reboot", 30*time.Minute),
			drain("system-reboot is announced for 2026-11-21 12:30 UTC; it has a job that may run until 2026-11-21 13:00 UTC")},
		{"event_and_a_job_without_limit", endless, event("instance-retirement", 14*24*time.Hour),
			drain("instance-retirement is announced for 2026-12-05 12:00 UTC; it has a job that may run longer")},
		{"event_and_no_job", idle, event("instance-retirement", 14*24*time.Hour), replace("instance-retirement is announced for 2026-12-05 12:00 UTC")},
		{"retirement_is_due", busy, event("instance-retirement", 0), lose("instance-retirement is due")},
		{"stop_was_due", busy, event("instance-stop", -time.Hour), lose("instance-stop is due")},
		{"stop_now", busy, provider.HealthEvent{Code: "instance-stop"}, lose("instance-stop is due")},
		{"reboot_was_due_and_the_job_lives", busy, event("system-reboot", -time.Hour),
			drain("system-reboot is announced for 2026-11-21 11:00 UTC; it has a job that may run until 2026-11-21 13:00 UTC")},
		{"drained_by_us_and_idle", drained, event("system-reboot", time.Hour), []fleet.Action{act(fleet.PowerDown, "system-reboot is announced for 2026-11-21 13:00 UTC")}},
		{"drained_by_us_with_a_job", draining, event("system-reboot", time.Hour), nil},
		{"drained_by_somebody", held, impaired(time.Hour), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := fleet.World{Now: now, Limits: costly, Nodes: []fleet.Node{row.node},
				Instances: []provider.Instance{{Node: "n-1", ID: "i-1", Started: ago(time.Minute), Health: []provider.HealthEvent{row.event}}}}
			if diff := cmp.Diff(row.want, fleet.Decide(w)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
	t.Run("no_doubt_and_drained_by_us", func(t *testing.T) {
		w := fleet.World{Now: now, Limits: costly, Nodes: []fleet.Node{drained}, Instances: []provider.Instance{{Node: "n-1", ID: "i-1"}}}
		if diff := cmp.Diff([]fleet.Action{act(fleet.PowerDown, "x")}, fleet.Decide(w)); diff != "" {
			t.Errorf("want -, got +:\n%s", diff)
		}
	})
}

func TestDecide_halts(t *testing.T) {
	r := slurm.Resource{Queue: "q", Name: "r"}
	n := func(state fleet.State) fleet.Node { return fleet.Node{Name: "n-1", Resource: r, State: state} }
	busy := n(fleet.Up)
	busy.Busy = true
	static := n(fleet.PoweredDown)
	static.Static = true
	lose := []fleet.Action{act(fleet.SetDown, "muster: because"), act(fleet.PowerDown, "because")}
	end := []fleet.Action{act(fleet.PowerDown, "because")}
	young, old := time.Minute, time.Hour
	for _, row := range []struct {
		name   string
		node   fleet.Node
		age    time.Duration // of its instance; 0 is none
		ending fleet.Ending
		want   []fleet.Action
	}{
		{"static_stays_off", static, 0, fleet.Stay, nil},
		{"resumed", n(fleet.PoweringUp), 0, fleet.Stay, lose},
		{"booting_stays", n(fleet.PoweringUp), young, fleet.Stay, nil},
		{"booting_when_idle", n(fleet.PoweringUp), young, fleet.WhenIdle, nil},
		{"booting_at_once", n(fleet.PoweringUp), young, fleet.AtOnce, lose},
		{"failed_boot", n(fleet.PoweringUp), old, fleet.Stay, []fleet.Action{boot(fleet.Terminate, "no answer within 15m0s of its start"), lose[0], lose[1]}},
		{"idle_stays", n(fleet.Up), old, fleet.Stay, nil},
		{"idle_when_idle", n(fleet.Up), old, fleet.WhenIdle, end},
		{"busy_when_idle", busy, old, fleet.WhenIdle, nil},
		{"idle_after_jobs", n(fleet.Up), old, fleet.AfterJobs, []fleet.Action{act(fleet.Drain, "muster: because"), end[0]}},
		{"busy_after_jobs", busy, old, fleet.AfterJobs, []fleet.Action{act(fleet.Drain, "muster: because")}},
		{"busy_at_once", busy, old, fleet.AtOnce, lose},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := fleet.World{Now: now, Limits: costly, Nodes: []fleet.Node{row.node}, Halts: map[slurm.Resource]fleet.Halt{r: {Reason: "because", Ending: row.ending}}}
			if row.age > 0 {
				w.Instances = []provider.Instance{{Node: "n-1", ID: "i-1", Started: ago(row.age)}}
			}
			if diff := cmp.Diff(row.want, fleet.Decide(w)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func TestDecide_ends_machines_that_nobody_knows(t *testing.T) {
	at := netip.MustParseAddr("10.0.0.7")
	w := fleet.World{Now: now, Limits: costly,
		Nodes: []fleet.Node{{Name: "a", State: fleet.Up, Address: "10.0.0.7"}, {Name: "b", State: fleet.PoweringUp}, {Name: "c", State: fleet.PoweringUp}},
		Instances: []provider.Instance{
			{ID: "i-1", Started: ago(4 * time.Minute)}, {ID: "i-2", Started: ago(5 * time.Minute)},
			{ID: "i-3", Node: "gone", Started: ago(4 * time.Minute)}, {ID: "i-4", Node: "gone", Started: ago(6 * time.Minute)},
			{ID: "i-5", Node: "a", Started: ago(2 * time.Minute)}, {ID: "i-6", Node: "a", Started: ago(3 * time.Minute), Address: at},
			{ID: "i-7", Node: "b", Started: ago(2 * time.Minute)}, {ID: "i-8", Node: "b", Started: ago(3 * time.Minute)},
			{ID: "i-9", Node: "c", Started: ago(2 * time.Minute)}, {ID: "i-10", Node: "c", Started: ago(3 * time.Minute)},
		},
		InFlight: map[string]bool{"c": true},
	}
	want := []fleet.Action{
		{Kind: fleet.Terminate, Nodes: []string{"i-5"}, Reason: "a second instance of a"},
		{Kind: fleet.Terminate, Nodes: []string{"i-8"}, Reason: "a second instance of b"},
		{Kind: fleet.Terminate, Nodes: []string{"gone"}, Reason: "no longer in the cluster file"},
		{Kind: fleet.Terminate, Nodes: []string{"i-2"}, Reason: "no node is known for it"},
	}
	if diff := cmp.Diff(want, fleet.Decide(w)); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestDecide_leaves_what_is_in_flight(t *testing.T) {
	for state := range fleet.Down + 1 {
		for _, alive := range []bool{false, true} {
			w := fleet.World{Now: now, Limits: costly, Nodes: []fleet.Node{{Name: "n-1", State: state, Reason: "Not responding"}}, InFlight: map[string]bool{"n-1": true}}
			if alive {
				w.Instances = []provider.Instance{{Node: "n-1", ID: "i-1", Started: ago(time.Hour)}}
			}
			if got := fleet.Decide(w); len(got) > 0 {
				t.Errorf("state %d, alive %t: %+v", state, alive, got)
			}
		}
	}
}

func TestDecide_waits_where_it_asked_too_often(t *testing.T) {
	w := fleet.World{Now: now, Limits: costly, Nodes: []fleet.Node{{Name: "n-1", State: fleet.PoweringUp}}, Pause: map[string]time.Time{"n-1": now.Add(1)}}
	if got := fleet.Decide(w); len(got) > 0 {
		t.Errorf("too soon: %+v", got)
	}
	w.Now = now.Add(1)
	if diff := cmp.Diff([]fleet.Action{act(fleet.Launch, "resumed by Slurm")}, fleet.Decide(w)); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

func TestDecide_replaces_what_says_that_it_failed(t *testing.T) {
	w := fleet.World{Now: now, Limits: costly, Nodes: []fleet.Node{{Name: "n-1", State: fleet.PoweringUp}},
		Instances: []provider.Instance{{Node: "n-1", ID: "i-1", Started: ago(time.Minute)}}, BootFailed: map[string]string{"i-1": "its boot failed at mount"}}
	want := []fleet.Action{boot(fleet.Terminate, "its boot failed at mount"), boot(fleet.Launch, "its boot failed at mount")}
	if diff := cmp.Diff(want, fleet.Decide(w)); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// BenchmarkDecide is one decision on a thousand nodes that run.
func BenchmarkDecide(b *testing.B) {
	w := fleet.World{Now: now, Limits: costly}
	for i := range 1000 {
		name := fmt.Sprintf("q-dy-r-%d", i)
		at := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
		w.Nodes = append(w.Nodes, fleet.Node{Name: name, Resource: slurm.Resource{Queue: "q", Name: "r"}, State: fleet.Up, Address: at.String()})
		w.Instances = append(w.Instances, provider.Instance{Node: name, ID: fmt.Sprintf("i-%d", i), Started: ago(time.Hour), Address: at})
	}
	for b.Loop() {
		if got := fleet.Decide(w); len(got) > 0 {
			b.Fatal(got)
		}
	}
}
