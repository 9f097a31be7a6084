package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/slurm"
)

// TestByHand: what others did to nodes is told once, with its reason, and what muster or
// Slurm itself did is not.
func TestByHand(t *testing.T) {
	node := func(state, reason, user string) slurm.Node {
		return slurm.Node{Name: "q-1", State: slurm.ParseNodeState(state), Reason: reason, ReasonUser: user}
	}
	idle := node("IDLE+CLOUD", "", "")
	drained := node("IDLE+CLOUD+DRAIN", "fan", "alice")
	ours := node("IDLE+CLOUD+DRAIN", "muster: status check failed", "root")
	byItself := node("MIXED+CLOUD+DRAIN", fleet.KernelReason("NVRM: Xid (PCI:0000:38:00): 79, x"), "root")
	asked := node("IDLE+CLOUD+DRAIN+REBOOT_REQUESTED", "Reboot ASAP", "root")
	issued := node("DOWN+CLOUD+DRAIN+REBOOT_ISSUED", "Reboot ASAP : reboot issued", "root")
	booted := func(n slurm.Node, second int64) slurm.Node {
		n.BootTime = time.Unix(second, 0)
		return n
	}
	for name, row := range map[string]struct {
		before, now slurm.Node
		want        []Event
	}{
		"nothing":             {idle, idle, nil},
		"drained":             {idle, drained, []Event{{Kind: "drained", Nodes: []string{"q-1"}, Reason: "fan", User: "alice", From: "IDLE+CLOUD", To: "IDLE+CLOUD+DRAIN"}}},
		"still_drained":       {drained, drained, nil},
		"resumed":             {drained, idle, []Event{{Kind: "resumed", Nodes: []string{"q-1"}, Reason: "fan", From: "IDLE+CLOUD+DRAIN", To: "IDLE+CLOUD"}}},
		"drained_by_us":       {idle, ours, nil},
		"by_itself":           {idle, byItself, []Event{{Kind: "drained", Nodes: []string{"q-1"}, Reason: byItself.Reason, User: "root", From: "IDLE+CLOUD", To: "MIXED+CLOUD+DRAIN"}}},
		"replaced_by_us":      {ours, idle, nil},
		"powered_down":        {drained, node("IDLE+CLOUD+POWERING_DOWN", "", ""), nil},
		"reboot":              {idle, asked, []Event{{Kind: "reboot", Nodes: []string{"q-1"}, Reason: "Reboot ASAP", User: "root", From: "IDLE+CLOUD", To: asked.State.String()}}},
		"reboot_goes_on":      {asked, issued, nil},
		"rebooted":            {issued, idle, nil},
		"rebooted_unseen":     {booted(idle, 1000), booted(idle, 1100), []Event{{Kind: "reboot", Nodes: []string{"q-1"}, From: "IDLE+CLOUD", To: "IDLE+CLOUD"}}},
		"clocks_differ":       {booted(idle, 1000), booted(idle, 1001), nil},
		"powered_up":          {booted(node("IDLE+CLOUD+POWERING_UP", "", ""), 1000), booted(idle, 1100), nil},
		"came_back":           {booted(node("DOWN+CLOUD", "", ""), 1000), booted(idle, 1100), nil},
		"what_was_not_before": {slurm.Node{Name: "q-2"}, drained, nil},
	} {
		got := byHand(map[string]slurm.Node{row.before.Name: row.before}, []slurm.Node{row.now})
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	two := drained
	two.Name = "q-2"
	before := map[string]slurm.Node{"q-1": idle, "q-2": idle}
	if got := byHand(before, []slurm.Node{drained, two}); len(got) != 1 || len(got[0].Nodes) != 2 {
		t.Errorf("two nodes in one go: %+v", got)
	}
}
