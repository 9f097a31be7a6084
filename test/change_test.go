package test

import (
	"strings"
	"testing"
	"time"
)

// TestChange changes the cluster file while jobs run.
func TestChange(t *testing.T) {
	t.Parallel()
	c := newCluster(t, fileOf(4))
	h := c.hold("stays", "--nodelist=gpu-dy-p5e-1", "--exclusive")

	c.resize(6)
	if n := c.nodes(); len(n) != 6 {
		t.Errorf("after 4 -> 6: %v", n)
	}
	if out := c.head("srun", "--nodelist=gpu-dy-p5e-[5-6]", "--nodes=2", "sh", "-c", "hostname; getent hosts gpu-dy-p5e-1 gpu-dy-p5e-6 >&2"); strings.Count(out, "gpu-dy-p5e-") != 2 {
		t.Errorf("the new nodes ran %q", out)
	}

	// Node 5 and 6 are up and idle: they end.
	c.resize(3)
	if n := c.nodes(); len(n) != 3 {
		t.Errorf("after 6 -> 3: %v", n)
	}
	c.await("the removed nodes have ended", 10*time.Second, func() bool {
		return c.init("gpu-dy-p5e-5") == 0 && c.init("gpu-dy-p5e-6") == 0
	})

	busy := c.hold("busy", "--nodelist=gpu-dy-p5e-3")
	c.file("cluster.yaml", fileOf(2))
	r := c.run("up", "--no-test", "cluster.yaml")
	want := "the file no longer has node gpu-dy-p5e-3, but job " + busy.id + " runs on it: wait for it, or `muster job cancel " + busy.id + "`"
	if r.code != 1 || !strings.Contains(r.stderr, want) {
		t.Errorf("3 -> 2 with a job on node 3: exit code %d\n%s", r.code, r.stderr)
	}
	if n := c.nodes(); len(n) != 3 {
		t.Errorf("after the refusal: %v", n)
	}
	busy.lives()
	c.resize(2)
	h.lives()
}

func (c *cluster) resize(most int) {
	c.t.Helper()
	c.file("cluster.yaml", fileOf(most))
	c.must("up", "--no-test", "cluster.yaml")
}
