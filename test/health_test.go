package test

import (
	"strings"
	"testing"
)

// TestHealth: a node that loses a file system of the cluster drains itself, with the reason; no other does, and the node comes
// back as a new one.
func TestHealth(t *testing.T) {
	t.Parallel()
	c := newCluster(t, strings.NewReplacer(
		"  Scheduler: slurm\n", "  Scheduler: slurm\n  SlurmSettings: {CustomSlurmSettings: [{HealthCheckInterval: 2}]}\n",
		"MinCount: 1, MaxCount: 3", "MinCount: 3, MaxCount: 3",
	).Replace(nodesFile))
	const sick = "gpu-st-p5e-2"
	c.await("all nodes are up", patience, func() bool {
		return c.nodes()[sick].State == "idle" && c.nodes()["gpu-st-p5e-3"].State == "idle"
	})
	looked := func(node string) bool {
		return strings.Contains(c.node(node, "cat /var/spool/slurmd/muster-health.json").stdout, `"/fsx1"`)
	}
	c.await("the node has looked at itself", patience, func() bool { return looked(sick) })
	before := c.nodes()[sick].PID
	if r := c.node(sick, "umount --lazy /fsx1"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	c.await("the node drained itself", patience, func() bool {
		return strings.Contains(c.must("events"), "muster: health: /fsx1 is not mounted any more")
	})
	for line := range strings.Lines(c.must("events")) {
		if strings.Contains(line, "health:") && !strings.Contains(line, sick) {
			t.Errorf("another node: %s", line)
		}
	}
	c.await("a new machine takes its place", 2*patience, func() bool {
		n := c.nodes()[sick]
		return n.State == "idle" && n.PID != 0 && n.PID != before && looked(sick)
	})
}
