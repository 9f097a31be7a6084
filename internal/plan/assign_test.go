package plan

import (
	"testing"

	"github.com/muster-hpc/muster/internal/spec"
)

// The pool with the least room that is enough leaves room for a larger model, which the
// first one with room does not.
func TestAssign(t *testing.T) {
	models := []spec.Model{{Name: "small", Nodes: 4}, {Name: "large", Nodes: 6}}
	for name, row := range map[string]struct {
		room   []int
		tight  bool
		home   map[int]int
		failed int
	}{
		"first":       {[]int{6, 4}, false, nil, 1},
		"tight":       {[]int{6, 4}, true, map[int]int{0: 1, 1: 0}, -1},
		"tight_third": {[]int{6, 5, 4}, true, map[int]int{0: 2, 1: 0}, -1},
		"no_room":     {[]int{3, 3}, true, nil, 0},
	} {
		home, failed := assign(row.room, models, []int{0, 1}, row.tight)
		if failed != row.failed || len(home) != len(row.home) {
			t.Errorf("%s: %v, %d", name, home, failed)
		}
		for m, p := range row.home {
			if home[m] != p {
				t.Errorf("%s: model %d is in pool %d", name, m, home[m])
			}
		}
	}
}

func TestConfig(t *testing.T) {
	for minutes, seconds := range map[int]int{-1: -1, 0: 0, 10: 600} {
		c := &spec.Cluster{}
		c.Scheduling.Slurm.ScaledownIdleMinutes = minutes
		if got := Config(c, &spec.Workload{}, nil).IdleSeconds; got != seconds {
			t.Errorf("%d minutes are %d seconds", minutes, got)
		}
	}
}
