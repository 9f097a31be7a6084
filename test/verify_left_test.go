package test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// jobs are those of verifications that Slurm has, with their states.
func (c *cluster) verifyJobs() string {
	c.t.Helper()
	var ours []string
	for line := range strings.Lines(c.head("squeue", "--noheader", "--format=%j %T")) {
		if strings.HasPrefix(line, "muster-verify ") {
			ours = append(ours, strings.TrimSpace(line))
		}
	}
	return strings.Join(ours, "; ")
}

// here runs a verification on the head node, which knows nothing of the cluster but its Slurm, and returns how to kill it there.
func (c *cluster) here(args string) (cmd *exec.Cmd, kill func()) {
	c.t.Helper()
	c.head("rm", "-f", "/fsx1/verify.pid")
	cmd = c.command("exec", "--", "sh", "-c", "echo $$ >/fsx1/verify.pid; exec muster verify --here --yes "+args)
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	return cmd, func() {
		c.t.Helper()
		c.head("sh", "-c", "kill -9 $(cat /fsx1/verify.pid)")
		_ = cmd.Wait()
	}
}

// occupy has a job of somebody else's hold a node, or wait for it.
func (c *cluster) occupy(node, state string) (job string) {
	c.t.Helper()
	job = strings.TrimSpace(c.head("sbatch", "--parsable", "--exclusive", "--output=/dev/null", "--nodelist="+node, "--wrap=exec sleep 600"))
	c.await("job "+job+" is "+state, patience, func() bool {
		return strings.TrimSpace(c.head("squeue", "--noheader", "--format=%T", "--jobs="+job)) == state
	})
	return job
}

// A cluster that has no muster on its nodes gets it for the time of the job. Nothing of it is left, on any node.
func verifySendsItself(t *testing.T, c *cluster) {
	var v verified
	r := c.run("exec", "--", "muster", "verify", "--here", "--yes", "basic", "host", "-o", "json")
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil || r.code != 0 || v.Verdict == "fail" {
		t.Errorf("exit code %d, %v: %+v\n%s", r.code, err, v, r.stderr)
	}
	if !strings.Contains(r.stderr, "sends muster to the nodes") {
		t.Error(r.stderr)
	}
	c.holds(v, "pass", "job-step", "clock", "nodes-free-again")
	for _, n := range v.Nodes {
		if r := c.node(n, "ls -A /tmp | grep muster-verify"); r.code == 0 {
			t.Errorf("left on %s: %s", n, r.stdout)
		}
	}
}

// What was sent to nodes goes even if the verification is killed.
func verifyRemovesItself(t *testing.T, c *cluster) {
	const node = "gpu-dy-p5e-9"
	_, kill := c.here("collectives --nodelist gpu-dy-p5e-[9-10]")
	c.await("muster is on "+node, patience, func() bool { return c.node(node, "ls -A /tmp | grep muster-verify").code == 0 })
	kill()
	c.await("its nodes are free", patience, func() bool { return c.verifyJobs() == "" })
	if r := c.node(node, "ls -A /tmp | grep muster-verify"); r.code == 0 {
		t.Errorf("left: %s", r.stdout)
	}
}

// A verification that is killed while it waits starts no nodes later.
func verifyWithdraws(t *testing.T, c *cluster) {
	const node = "gpu-dy-p5e-12"
	others := c.occupy(node, "RUNNING")
	defer c.head("scancel", others)
	_, kill := c.here("basic --nodelist " + node)
	c.await("its job waits", patience, func() bool { return c.verifyJobs() == "muster-verify PENDING" })
	kill()
	c.await("nothing waits", patience, func() bool { return c.verifyJobs() == "" })
}

// The job that suite slurm submits ends with a verification that is killed, be it in the queue.
func verifyEndsItsJobs(t *testing.T, c *cluster) {
	const node = "gpu-dy-p5e-13"
	first := c.occupy(node, "RUNNING")
	_, kill := c.here("slurm --nodelist " + node)
	c.await("its nodes are asked for", patience, func() bool { return c.verifyJobs() == "muster-verify PENDING" })
	second := c.occupy(node, "PENDING") // it gets the node when the verification gives it back to try Slurm itself
	defer c.head("scancel", second)
	c.head("scancel", first)
	c.await("the other job has the node", patience, func() bool {
		return strings.TrimSpace(c.head("squeue", "--noheader", "--format=%T", "--jobs="+second)) == "RUNNING"
	})
	c.await("its job waits", patience, func() bool { return c.verifyJobs() == "muster-verify PENDING" })
	kill()
	c.await("nothing waits", patience, func() bool { return c.verifyJobs() == "" })
}

// A node that came up for the verification is powered down by it.
func verifyPowersDown(t *testing.T, c *cluster) {
	const node = "gpu-dy-p5e-14"
	state := func() string { return c.head("scontrol", "--oneliner", "show", "node", node) }
	if !strings.Contains(state(), "POWERED_DOWN") {
		c.head("scontrol", "update", "nodename="+node, "state=power_down_force")
		c.await(node+" is off", patience, func() bool { return strings.Contains(state(), "POWERED_DOWN") })
	}
	v, code := c.verify("slurm", "--nodelist", node)
	if code != 0 {
		t.Errorf("exit code %d: %+v", code, v)
	}
	c.holds(v, "pass", "batch-job", "requeue", "job-accounting", "power-down")
}
