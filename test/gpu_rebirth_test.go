package test

import (
	"testing"
	"time"
)

// TestRebirth_of_GPUs: a job with GPUs of several nodes, which all die at once, gets steps
// when it runs again.
func TestRebirth_of_GPUs(t *testing.T) {
	t.Parallel()
	c := newCluster(t, fileOf(2))
	h := c.hold("trainer", "--nodes=2", "--gpus-per-node=8", "--mem=1G", "--requeue")
	h.saved()
	c.kill("the first process", c.anchor())
	c.await("it is dead", 5*time.Second, func() bool { return c.run("status").code != 0 })
	c.must("up", "--no-test", "cluster.yaml")
	h.runs(1)
	c.head("srun", "--overlap", "--jobid="+h.id, "--nodes=2", "--ntasks=2", "--gpus-per-node=8", "true")
	h.letGo()
	if j := h.ends(); j.State != "COMPLETED" {
		t.Errorf("the job: %+v", j)
	}
}
