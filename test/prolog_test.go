package test

import (
	"strings"
	"testing"
)

// TestProlog: a node that lost a file system gets no job to its first step. It drains itself, with the reason, and the job runs on
// others, be the node the job's first or another one. The node comes back as a new one.
func TestProlog(t *testing.T) {
	t.Parallel()
	c := newCluster(t, strings.Replace(nodesFile, "MinCount: 1, MaxCount: 3", "MinCount: 3, MaxCount: 3", 1))
	well := func() bool {
		for _, n := range []string{"gpu-st-p5e-1", "gpu-st-p5e-2", "gpu-st-p5e-3"} {
			looked := c.nodes()[n].State == "idle" && strings.Contains(c.node(n, "cat /var/spool/slurmd/muster-health.json").stdout, `"/fsx1"`)
			if !looked {
				return false
			}
		}
		return true
	}
	for _, row := range []struct{ nodes, sick string }{{"2", "gpu-st-p5e-2"}, {"1", "gpu-st-p5e-1"}} {
		c.await("all nodes are up and have looked at themselves", 2*patience, well)
		before := c.nodes()[row.sick].PID
		if r := c.node(row.sick, "umount --lazy /fsx1"); r.code != 0 {
			t.Fatal(r.stderr)
		}
		id := strings.TrimSpace(c.head("sbatch", "--parsable", "--nodes="+row.nodes, "--ntasks-per-node=1", "--output=/home/%j", "--wrap=srun sh -c 'echo $SLURMD_NODENAME; grep -c \" /fsx1 \" /proc/self/mountinfo'"))
		c.await("the job has run", 2*patience, func() bool {
			return strings.Contains(c.head("sacct", "--noheader", "--allocations", "--format=State", "--jobs="+id), "COMPLETED")
		})
		said := c.head("cat", "/home/"+id)
		if strings.Contains(said, row.sick) || strings.Contains(said, "0\n") || strings.Count(said, "gpu-st-p5e-") == 0 {
			t.Errorf("the job of %s nodes ran where %s was sick:\n%s", row.nodes, row.sick, said)
		}
		c.await("a new machine takes its place", 2*patience, func() bool {
			n := c.nodes()[row.sick]
			return n.State == "idle" && n.PID != 0 && n.PID != before
		})
		if events := c.must("events"); !strings.Contains(events, "muster: health: /fsx1 is not mounted any more") {
			t.Errorf("no event has the reason:\n%s", events)
		}
	}
	for line := range strings.Lines(c.must("events")) {
		if strings.Contains(line, "health:") && strings.Contains(line, "gpu-st-p5e-3") {
			t.Errorf("a node that was well: %s", line)
		}
	}
}
