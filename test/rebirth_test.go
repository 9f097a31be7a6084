package test

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/test/soak"
)

// TestRebirth kills a whole cluster with jobs, as a machine dies, and brings it up at
// once. Nobody reaps its first process, as under the first process of
// many containers. It runs alone: this process takes the orphans of all others, too.
func TestRebirth(t *testing.T) { isReborn(t, 1) }

// TestSoak_rebirth: the same cluster dies again and again. MUSTER_REBIRTHS says how often.
func TestSoak_rebirth(t *testing.T) {
	soak.Only(t, "TestRebirth many times")
	isReborn(t, fromEnvironment(t, "MUSTER_REBIRTHS", 8))
}

func isReborn(t *testing.T, times int) {
	t.Helper()
	c := newCluster(t, fileOf(4))
	adopt(t, 1)
	defer adopt(t, 0)
	h := c.hold("survivor", "--nodes=2", "--exclusive")
	for i := range times {
		// The test job of `up` runs beside it on the two nodes that are left.
		h.saved()
		began := strings.Count(c.read("survivor.out"), "run ")
		c.kill("the first process", c.anchor())
		c.await("it is dead", 5*time.Second, func() bool { return c.run("status").code != 0 })
		r := c.run("up", "cluster.yaml")
		if r.code != 0 {
			t.Errorf("rebirth %d: exit code %d\n%s", i, r.code, r.stderr)
		}
		c.await("the job runs again", 2*time.Minute, func() bool { return strings.Count(c.read("survivor.out"), "run ") > began })
	}
	// One that slurmctld may not have written down when it dies.
	running := func() string {
		return c.head("sacct", "--allocations", "--noheader", "--parsable2", "--state=RUNNING", "--format=jobname")
	}
	c.head("sbatch", "--job-name=ghost", "--wrap", "sleep 5")
	c.await("another job runs", time.Minute, func() bool { return strings.Contains(running(), "ghost") })
	c.kill("the first process", c.anchor())
	c.await("no command runs on a cluster that is dead", 5*time.Second, func() bool { return c.run("exec", "true").code != 0 })
	upWithoutHead(t, c)
	c.must("up", "cluster.yaml")
	if j := c.show(h.id); j.State == "FAILED" {
		t.Errorf("the job: %+v", j)
	}
	h.letGo()
	c.await("nothing runs for ever in the accounting", 3*time.Minute, func() bool { return running() == "" })
}

// adopt makes this process the parent of orphans below it, which it does not reap.
func adopt(t *testing.T, on uintptr) {
	t.Helper()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, on, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
}

// upWithoutHead: `up` says at once that the first process has died while it waits.
func upWithoutHead(t *testing.T, c *cluster) {
	up := c.command("up", "--no-test", "cluster.yaml")
	var said strings.Builder
	up.Stderr = &said
	old := c.anchor()
	if err := up.Start(); err != nil {
		t.Fatal(err)
	}
	c.await("there is a new first process", 10*time.Second, func() bool { return c.anchor() != old && c.service("munged") != 0 })
	c.kill("the first process", c.anchor())
	err := up.Wait()
	want := "the head node's first process ended by signal SIGKILL"
	if err == nil || !strings.Contains(said.String(), want) {
		t.Errorf("%v, want %q in:\n%s", err, want, said.String())
	}
}
