package local

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/slurm"
)

// asShown are nodes by their names and states.
func asShown(all ...string) []slurm.Node {
	var nodes []slurm.Node
	for _, text := range all {
		name, state, _ := strings.Cut(text, " ")
		nodes = append(nodes, slurm.Node{Name: name, State: slurm.ParseNodeState(state)})
	}
	return nodes
}

// TestRegistered has a queue whose name has that marks nodes as static.
func TestRegistered(t *testing.T) {
	group := slurm.NodeGroup{Resource: slurm.Resource{Queue: "a-st-b", Name: "c"}, Static: true, Addresses: make([]netip.Addr, 2)}
	for _, row := range []struct {
		name string
		all  []slurm.Node
		want int
	}{
		{"nothing", nil, 0},
		{"one_up", asShown("a-st-b-st-c-1 IDLE", "a-st-b-st-c-2 IDLE+POWERED_DOWN"), 1},
		{"dynamic_ones_do_not_count", asShown("a-st-b-dy-c-1 IDLE", "a-st-b-dy-c-2 MIXED", "a-st-b-st-c-1 DOWN"), 0},
		{"of_a_cloud", asShown("a-st-b-st-c-1 IDLE+CLOUD", "a-st-b-st-c-2 IDLE+CLOUD+NOT_RESPONDING+POWERING_UP"), 1},
		{"all", asShown("a-st-b-st-c-1 ALLOCATED", "a-st-b-dy-c-1 IDLE", "a-st-b-st-c-2 IDLE+COMPLETING"), 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := registered(row.all, group.Names()); got != row.want {
				t.Errorf("%d are up, want %d", got, row.want)
			}
		})
	}
}
