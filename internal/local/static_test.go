package local

import (
	"net/netip"
	"testing"

	"github.com/muster-hpc/muster/internal/slurm"
)

// TestRegistered has a queue whose name has what marks nodes as static, and a node of two partitions.
func TestRegistered(t *testing.T) {
	group := slurm.NodeGroup{Resource: slurm.Resource{Queue: "a-st-b", Name: "c"}, Static: true, Addresses: make([]netip.Addr, 2)}
	for _, row := range []struct {
		name  string
		sinfo string
		want  int
	}{
		{"nothing", "", 0},
		{"one_up", "a-st-b-st-c-1 idle none\na-st-b-st-c-2 idle~ none\n", 1},
		{"dynamic_ones_do_not_count", "a-st-b-dy-c-1 idle none\na-st-b-dy-c-2 mixed none\na-st-b-st-c-1 down boot failed\n", 0},
		{"in_two_partitions", "a-st-b-st-c-1 idle none\na-st-b-st-c-1 idle none\n", 1},
		{"all", "a-st-b-st-c-1 allocated none\na-st-b-dy-c-1 idle none\na-st-b-st-c-2 completing none\n", 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := registered(row.sinfo, group.Names()); got != row.want {
				t.Errorf("%d are up, want %d", got, row.want)
			}
		})
	}
}
