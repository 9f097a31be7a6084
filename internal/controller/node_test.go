package controller

import (
	"testing"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/slurm"
)

// The states are those that scontrol of 22.05 showed of cloud nodes.
func TestStateOf(t *testing.T) {
	for _, row := range []struct {
		name, state, reason string
		want                fleet.State
	}{
		{"off", "IDLE+CLOUD+POWERED_DOWN", "", fleet.PoweredDown},
		{"off_and_silent", "IDLE+CLOUD+POWERED_DOWN+NOT_RESPONDING", "", fleet.PoweredDown},
		{"off_and_silent_and_asked", "IDLE+CLOUD+POWER_DOWN+POWERED_DOWN+NOT_RESPONDING", "", fleet.Asked},
		{"off_after_a_power_down", "IDLE+CLOUD+POWERED_DOWN", "muster: the instance ended", fleet.PoweredDown},
		{"off_and_drained", "IDLE+CLOUD+DRAIN+POWERED_DOWN", "bad fan", fleet.PoweredDown},
		{"job_just_allocated", "MIXED+CLOUD+POWERED_DOWN", "", fleet.Asked},
		{"power_up_requested", "IDLE+CLOUD+POWERED_DOWN+POWER_UP", "", fleet.Asked},
		{"power_up_requested_only", "IDLE+CLOUD+POWER_UP", "", fleet.Asked},
		{"resumed", "MIXED+CLOUD+NOT_RESPONDING+POWERING_UP", "", fleet.PoweringUp},
		{"resumed_by_hand", "IDLE+CLOUD+POWERING_UP", "", fleet.PoweringUp},
		{"idle", "IDLE+CLOUD", "", fleet.Up},
		{"idle_with_an_old_reason", "IDLE+CLOUD", "asap", fleet.Up},
		{"working", "ALLOCATED+CLOUD", "", fleet.Up},
		{"silent_but_not_given_up", "IDLE+CLOUD+COMPLETING+NOT_RESPONDING", "", fleet.Up},
		{"drained", "IDLE+CLOUD+DRAIN", "bad fan", fleet.Up},
		{"to_be_powered_down_after_its_jobs", "MIXED+CLOUD+POWER_DOWN", "", fleet.Up},
		{"to_be_powered_down_asap", "MIXED+CLOUD+DRAIN+POWER_DOWN", "asap", fleet.Up},
		{"to_be_powered_down", "IDLE+CLOUD+POWER_DOWN", "", fleet.Asked},
		{"suspended", "IDLE+CLOUD+POWERING_DOWN", "", fleet.PoweringDown},
		{"suspended_and_wanted", "IDLE+CLOUD+POWERING_DOWN+POWER_UP", "", fleet.PoweringDown},
		{"set_down", "DOWN+CLOUD", "bad fan", fleet.Down},
		{"set_down_and_drained", "DOWN+CLOUD+DRAIN", "bad fan", fleet.Down},
		{"not_responding", "DOWN*+CLOUD", "Not responding", fleet.Down},
		{"launch_failed", "DOWN+CLOUD+NOT_RESPONDING+POWERING_UP", "muster: launch failed: no capacity", fleet.Down},
		{"returned_to_the_pool", "DOWN+CLOUD+POWER_DOWN+NOT_RESPONDING", "muster: launch failed: no capacity", fleet.Asked},
		{"resume_timeout", "DOWN+CLOUD+POWERED_DOWN+NOT_RESPONDING", "ResumeTimeout reached", fleet.Down},
		{"down_for_no_reason", "DOWN+CLOUD", "", fleet.Down},
	} {
		t.Run(row.name, func(t *testing.T) {
			n := slurm.Node{Name: "n-1", State: slurm.ParseNodeState(row.state), Reason: row.reason}
			if got := stateOf(n); got != row.want {
				t.Errorf("%s is %d, want %d", row.state, got, row.want)
			}
		})
	}
}

func TestNodeOf_static_is_what_the_first_feature_says(t *testing.T) {
	for _, features := range [][]string{{"dynamic", "c6i.large", "static"}, {"c6i.large"}, nil} {
		if nodeOf(slurm.Node{Features: features}).Static {
			t.Errorf("%v is taken for static", features)
		}
	}
	if !nodeOf(slurm.Node{Features: []string{"static", "dynamic"}}).Static {
		t.Error("a static node is taken for dynamic")
	}
}

// A queue may have in its name what marks nodes as static.
func TestNodeOf_a_queue_named_as_a_static_node(t *testing.T) {
	resource := slurm.Resource{Queue: "a-st-b", Name: "c"}
	static := nodeOf(slurm.Node{Name: "a-st-b-st-c-1", Partitions: []string{"a-st-b", "a"}, Features: []string{"static", "c5.large", "c"}})
	dynamic := nodeOf(slurm.Node{Name: "a-st-b-dy-c-1", Partitions: []string{"a", "a-st-b"}, Features: []string{"dynamic", "c5.large", "c"}})
	if static.Resource != resource || !static.Static || dynamic.Resource != resource || dynamic.Static {
		t.Errorf("got %+v and %+v", static, dynamic)
	}
}
