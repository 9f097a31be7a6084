package fleet_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/slurm"
)

var (
	now    = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	limits = fleet.Limits{Boot: time.Minute, Retry: 2 * time.Minute}
)

func ago(d time.Duration) time.Time { return now.Add(-d) }

// act is the one action on node n-1 that a row expects.
func act(kind fleet.ActionKind, reason string) fleet.Action {
	return fleet.Action{Kind: kind, Nodes: []string{"n-1"}, Reason: reason}
}

// boot is act because of a boot that failed.
func boot(kind fleet.ActionKind, reason string) fleet.Action {
	a := act(kind, reason)
	a.Boot = true
	return a
}

func down(reason string, since time.Duration) fleet.Node {
	return fleet.Node{State: fleet.Down, Closed: true, Reason: reason, ReasonTime: ago(since)}
}

func TestDecide(t *testing.T) {
	const never = time.Duration(-1)
	lost := []fleet.Action{
		act(fleet.SetDown, "muster: the instance ended"),
		act(fleet.PowerDown, "the instance ended"),
	}
	for _, row := range []struct {
		name string
		node fleet.Node
		age  time.Duration // of its instance
		// asked is how long ago Slurm asked for the node.
		asked time.Duration
		want  []fleet.Action
	}{
		{"up_with_instance", fleet.Node{State: fleet.Up}, time.Hour, 2 * time.Hour, nil},
		{"up_with_an_instance_older_than_its_resume", fleet.Node{State: fleet.Up}, 2 * time.Hour, time.Hour, nil},
		{"up_without_instance", fleet.Node{State: fleet.Up}, never, time.Hour, lost},
		{"up_static_without_instance", fleet.Node{State: fleet.Up, Static: true}, never, never, lost},
		{"drained_with_instance", fleet.Node{State: fleet.Up, Closed: true, Reason: "bad fan"}, time.Hour, never, nil},
		{"drained_without_instance_stays_drained", fleet.Node{State: fleet.Up, Closed: true, Reason: "bad fan"}, never, never,
			[]fleet.Action{act(fleet.SetDown, "bad fan")}},
		{"drained_for_a_forgotten_job", fleet.Node{State: fleet.Up, Closed: true, Reason: "Duplicate jobid"}, time.Hour, never,
			[]fleet.Action{act(fleet.PowerDown, "it still had a job that Slurm had forgotten (Duplicate jobid)")}},
		{"drained_for_a_forgotten_job_and_static", fleet.Node{State: fleet.Up, Static: true, Closed: true, Reason: "Duplicate jobid"}, time.Hour, never,
			[]fleet.Action{act(fleet.PowerDown, "it still had a job that Slurm had forgotten (Duplicate jobid)")}},
		{"drained_for_a_forgotten_job_beside_others", fleet.Node{State: fleet.Up, Closed: true, Busy: true, Reason: "Duplicate jobid"}, time.Hour, never, nil},
		{"drained_for_a_forgotten_job_and_gone", fleet.Node{State: fleet.Up, Closed: true, Busy: true, Reason: "Duplicate jobid"}, never, never, lost},
		{"forgotten_job_of_a_drain_that_is_over", fleet.Node{State: fleet.Up, Reason: "Duplicate jobid"}, time.Hour, never, nil},
		{"down_for_a_forgotten_job", down("Duplicate jobid", time.Second), time.Hour, never, []fleet.Action{
			act(fleet.Terminate, "its node is down: Duplicate jobid"),
			act(fleet.PowerDown, "Duplicate jobid"),
		}},
		{"reason_of_a_drain_that_is_over", fleet.Node{State: fleet.Up, Reason: "bad fan"}, never, never, lost},

		{"asked_with_instance", fleet.Node{State: fleet.Asked}, time.Hour, never, nil},
		{"asked_without_instance", fleet.Node{State: fleet.Asked}, never, never, nil},
		{"asked_static", fleet.Node{State: fleet.Asked, Static: true}, never, never, nil},

		{"resumed", fleet.Node{State: fleet.PoweringUp}, never, time.Second, []fleet.Action{act(fleet.Launch, "resumed by Slurm")}},
		{"resumed_and_nobody_heard", fleet.Node{State: fleet.PoweringUp}, never, never, []fleet.Action{act(fleet.Launch, "resumed by Slurm")}},
		{"booting", fleet.Node{State: fleet.PoweringUp}, 5 * time.Second, 6 * time.Second, nil},
		{"booting_and_nobody_heard", fleet.Node{State: fleet.PoweringUp}, 5 * time.Second, never, nil},
		{"booting_by_a_clock_of_seconds", fleet.Node{State: fleet.PoweringUp}, 6900 * time.Millisecond, 6 * time.Second, nil},
		{"left_over_from_before", fleet.Node{State: fleet.PoweringUp}, 10 * time.Second, 6 * time.Second, []fleet.Action{
			act(fleet.Terminate, "left over from before its resume"),
			act(fleet.Launch, "resumed by Slurm"),
		}},
		{"boot_at_its_limit", fleet.Node{State: fleet.PoweringUp}, time.Minute, time.Minute, nil},
		{"boot_too_long", fleet.Node{State: fleet.PoweringUp}, time.Minute + 1, time.Minute + 1, []fleet.Action{
			boot(fleet.Terminate, "no answer within 1m0s of its start"),
			boot(fleet.Launch, "no answer within 1m0s of its start"),
		}},

		{"powering_down_with_instance", fleet.Node{State: fleet.PoweringDown}, time.Hour, never, []fleet.Action{act(fleet.Terminate, "powered down by Slurm")}},
		{"powering_down_static", fleet.Node{State: fleet.PoweringDown, Static: true}, never, never, nil},
		{"powered_down", fleet.Node{State: fleet.PoweredDown}, never, never, nil},
		{"powered_down_with_instance", fleet.Node{State: fleet.PoweredDown}, time.Hour, never, []fleet.Action{act(fleet.Terminate, "powered down by Slurm")}},
		{"powered_down_and_silent", fleet.Node{State: fleet.PoweredDown, Silent: true}, never, never, []fleet.Action{act(fleet.PowerDown, "it is off, and Slurm gives it no job because it does not answer")}},
		{"powered_down_and_silent_set_down_by_somebody", fleet.Node{State: fleet.PoweredDown, Silent: true, Closed: true, Reason: "bad fan"}, never, never, nil},
		{"powered_down_and_silent_static", fleet.Node{State: fleet.PoweredDown, Silent: true, Static: true}, never, never, []fleet.Action{act(fleet.PowerUp, "static nodes are always on")}},
		{"asked_and_silent", fleet.Node{State: fleet.Asked, Silent: true}, never, never, nil},
		{"powering_down_and_silent", fleet.Node{State: fleet.PoweringDown, Silent: true}, never, never, nil},
		{"powering_up_and_silent", fleet.Node{State: fleet.PoweringUp, Silent: true}, time.Second, 2 * time.Second, nil},
		{"up_and_silent", fleet.Node{State: fleet.Up, Silent: true}, time.Hour, 2 * time.Hour, nil},
		{"powered_down_static", fleet.Node{State: fleet.PoweredDown, Static: true}, never, never, []fleet.Action{act(fleet.PowerUp, "static nodes are always on")}},
		{"powered_down_static_with_instance", fleet.Node{State: fleet.PoweredDown, Static: true}, time.Hour, never, []fleet.Action{
			act(fleet.Terminate, "powered down by Slurm"),
			act(fleet.PowerUp, "static nodes are always on"),
		}},
		{"powered_down_static_set_down_by_somebody", fleet.Node{State: fleet.PoweredDown, Static: true, Closed: true, Reason: "bad fan"}, never, never, nil},
		{"powered_down_static_with_an_old_reason", fleet.Node{State: fleet.PoweredDown, Static: true, Reason: "bad fan"}, never, never,
			[]fleet.Action{act(fleet.PowerUp, "static nodes are always on")}},

		{"asked", fleet.Node{State: fleet.Asked, Busy: true}, never, never, nil},
		{"given_to_a_job_and_soon_asked_for", fleet.Node{State: fleet.Asked, Busy: true, Stranded: ago(29 * time.Second)}, never, never, nil},
		{"given_to_a_job_and_never_asked_for", fleet.Node{State: fleet.Asked, Busy: true, Stranded: ago(30 * time.Second)}, never, never, []fleet.Action{
			act(fleet.SetDown, "muster: Slurm gave it to a job and does not start it"),
			act(fleet.PowerDown, "Slurm gave it to a job and does not start it"),
		}},

		{"set_down_by_somebody", down("bad fan", time.Hour), never, never, nil},
		{"set_down_by_somebody_with_instance", down("bad fan", time.Hour), time.Hour, never, nil},
		{"down_for_no_reason", down("", time.Hour), never, never, nil},
		{"down_for_a_lost_instance", down("muster: the instance ended", time.Second), never, never, []fleet.Action{act(fleet.PowerDown, "the instance ended")}},
		{"launch_failed_just_now", down("muster: launch failed: no capacity", time.Minute), never, never, nil},
		{"launch_failed_long_ago", down("muster: launch failed: no capacity", 2*time.Minute), never, never,
			[]fleet.Action{act(fleet.PowerDown, "trying again after a failed launch")}},
		{"silent", down("Not responding", time.Second), time.Hour, never, []fleet.Action{
			act(fleet.Terminate, "its node is down: Not responding"),
			act(fleet.PowerDown, "Not responding"),
		}},
		{"silent_and_gone", down("Not responding", time.Second), never, never, []fleet.Action{act(fleet.PowerDown, "Not responding")}},
		{"never_came_up", down("ResumeTimeout reached", time.Second), time.Minute, never, []fleet.Action{
			boot(fleet.Terminate, "its node is down: ResumeTimeout reached"),
			act(fleet.PowerDown, "ResumeTimeout reached"),
		}},
		{"rebooted_by_itself", down("Node unexpectedly rebooted", time.Second), time.Minute, never, []fleet.Action{
			act(fleet.Terminate, "its node is down: Node unexpectedly rebooted"),
			act(fleet.PowerDown, "Node unexpectedly rebooted"),
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.node.Name = "n-1"
			w := fleet.World{Now: now, Limits: limits, Nodes: []fleet.Node{row.node}, Resumed: map[string]time.Time{}}
			if row.age != never {
				w.Instances = []provider.Instance{{Node: "n-1", Started: ago(row.age)}}
			}
			if row.asked != never {
				w.Resumed["n-1"] = ago(row.asked)
			}
			if diff := cmp.Diff(row.want, fleet.Decide(w)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

func TestDecide_groups_nodes(t *testing.T) {
	w := fleet.World{Now: now, Limits: limits,
		Nodes: []fleet.Node{
			{Name: "c", State: fleet.PoweringUp}, {Name: "a", State: fleet.PoweringUp}, {Name: "b", State: fleet.Up}, {Name: "d", State: fleet.PoweredDown},
		},
		Instances: []provider.Instance{{Node: "y", Started: now}, {Node: "d", Started: now}, {Node: "x", Started: now}},
	}
	want := []fleet.Action{
		{Kind: fleet.Terminate, Nodes: []string{"x", "y"}, Reason: "no longer in the cluster file"},
		{Kind: fleet.Terminate, Nodes: []string{"d"}, Reason: "powered down by Slurm"},
		{Kind: fleet.SetDown, Nodes: []string{"b"}, Reason: "muster: the instance ended"},
		{Kind: fleet.PowerDown, Nodes: []string{"b"}, Reason: "the instance ended"},
		{Kind: fleet.Launch, Nodes: []string{"a", "c"}, Reason: "resumed by Slurm"},
	}
	for range 20 { // maps have no order
		if diff := cmp.Diff(want, fleet.Decide(w)); diff != "" {
			t.Fatalf("want -, got +:\n%s", diff)
		}
	}
}

// TestDecide_gives_a_burn_in_its_time, in the queue that has one.
func TestDecide_gives_a_burn_in_its_time(t *testing.T) {
	more := limits
	more.BurnIn = map[string]time.Duration{"train": 10 * time.Minute}
	for _, row := range []struct {
		queue string
		age   time.Duration
		ends  bool
	}{{"train", 12 * time.Minute, false}, {"train", 12*time.Minute + 1, true}, {"other", time.Minute, false}, {"other", time.Minute + 1, true}} {
		now := time.Unix(1e9, 0)
		actions := fleet.Decide(fleet.World{
			Now: now, Nodes: []fleet.Node{{Name: "n", Resource: slurm.Resource{Queue: row.queue}, State: fleet.PoweringUp}},
			Instances: []provider.Instance{{Node: "n", ID: "i", Started: now.Add(-row.age)}}, Limits: more,
		})
		if (len(actions) > 0) != row.ends {
			t.Errorf("%s after %s: %v", row.queue, row.age, actions)
		}
	}
}
