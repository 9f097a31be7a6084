package local

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/say/count"
)

const testJob = "muster-test"

// test runs a job on two nodes, or on one if there is only one.
func (u *up) test(ctx context.Context) (string, error) {
	names := plan.NodeNames(u.File)
	nodes := min(2, len(names))
	anchor, _ := u.layout.Alive()
	limit := 2*time.Minute + u.Workload.BurnInLimit()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the test job did not end within %s", limit))
	defer cancel()
	client := slurmOf(u.layout, anchor)
	// An earlier test job has ended, but a slurmctld that died before it wrote that down
	// still keeps nodes for it.
	if err := client.CancelNamed(ctx, testJob); err != nil {
		return "", err
	}
	out, err := client.Runner.Run(ctx, "srun", "--job-name="+testJob, fmt.Sprintf("--nodes=%d", nodes), "--ntasks-per-node=1", "--time=2", "--quiet", "hostname")
	if err != nil {
		return "", err
	}
	seen := strings.Fields(string(out))
	slices.Sort(seen)
	seen = slices.Compact(seen)
	for _, s := range seen {
		if !slices.Contains(names, s) {
			return "", fmt.Errorf("the test job ran on %q, which is no node of the file", s)
		}
	}
	if len(seen) != nodes {
		return "", fmt.Errorf("the test job ran on %s instead of %d: %s", count.Of(len(seen), "node"), nodes, strings.Join(seen, ", "))
	}
	if u.Tested != nil {
		u.Tested(place.TestJob{Nodes: seen})
	}
	return "ran on " + strings.Join(seen, ", "), nil
}
