package test

import (
	"strings"
	"testing"
	"time"
)

// fleetFile has a static node and a dynamic one.
const fleetFile = aFile + `  - Name: gpu
    Networking: {SubnetIds: [subnet-12345678]}
    ComputeResources:
    - {Name: p5e, InstanceType: p5e.48xlarge, MinCount: 1, MaxCount: 2}
`

// TestFleet stops and starts the nodes of a cluster.
func TestFleet(t *testing.T) {
	t.Parallel()
	c := newCluster(t, fleetFile)
	static, dynamic := "gpu-st-p5e-1", "gpu-dy-p5e-1"
	h := c.submit("lives", "--exclusive", "--nodelist="+dynamic)
	h.runs(0)
	waits := c.submit("waits", "--exclusive", "--nodelist="+dynamic)

	c.must("fleet", "stop")
	c.await("the static node ends", 30*time.Second, func() bool { return c.init(static) == 0 })
	if out := c.head("sinfo", "--noheader", "--format=%a"); !strings.HasPrefix(out, "inact") {
		t.Errorf("the partition is %q", out)
	}
	tellsOfStoppedFleet(t, c, waits)
	c.killService("controller") // it remembers
	h.lives()
	h.letGo()
	h.ends()
	c.await("the dynamic node ends", 30*time.Second, func() bool { return c.init(dynamic) == 0 })
	if j := c.show(waits.id); j.State != "PENDING" {
		t.Errorf("the job that waits is %+v", j)
	}

	c.must("fleet", "start")
	waits.runs(0)
	c.await("the static node is back", 30*time.Second, func() bool { return c.init(static) != 0 })

	c.must("fleet", "stop", "--now", "--yes")
	c.await("all nodes end", 30*time.Second, func() bool { return c.init(static) == 0 && c.init(dynamic) == 0 })
	c.must("fleet", "start")
	waits.runs(1)
	waits.letGo()
	if j := waits.ends(); j.State != "COMPLETED" {
		t.Errorf("the job that was put back is %+v", j)
	}
}

// tellsOfStoppedFleet: who submits a job, looks at one that waits or at the cluster learns how to go on.
func tellsOfStoppedFleet(t *testing.T, c *cluster, waits *held) {
	c.file("more.sbatch", "#!/bin/bash\ntrue\n")
	for _, verb := range [][]string{{"run"}, {"job", "submit"}} {
		const want = "sbatch does not take more.sbatch: Required partition not available (inactive or drain); if the fleet is stopped, which `muster --cluster whole status` says, `muster --cluster whole fleet start` lets it run\n"
		if r := c.run(append(verb, "more.sbatch")...); r.code != 1 || !strings.HasSuffix(r.stderr, want) {
			t.Errorf("%s: exit code %d\n%s", verb, r.code, r.stderr)
		}
	}
	if r := c.run("status"); r.code != 3 || !strings.Contains(r.stdout+r.stderr, "the fleet is stopped") {
		t.Errorf("status: exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	c.await("Slurm says why the job waits", time.Minute, func() bool {
		return strings.Contains(c.must("job", "show", waits.id), "the fleet is stopped, or the queue is protected, and `muster status` says why; `muster fleet start` lets it run")
	})
}
