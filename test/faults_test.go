package test

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestFaults kills what a cluster is made of, one after the other.
func TestFaults(t *testing.T) {
	t.Parallel()
	newCluster(t, fileOf(4)).each(map[string]func(*testing.T, *cluster){
		"controller_is_killed":  controllerIsKilled,
		"slurmctld_is_killed":   slurmctldIsKilled,
		"slurmd_is_killed":      slurmdIsKilled,
		"job_ids_stay_given":    jobIDsStayGiven,
		"duplicate_job":         duplicateJob,
		"job_ends_unheard":      jobEndsUnheard,
		"service_hangs":         serviceHangs,
		"node_is_killed":        nodeIsKilled,
		"mariadb_is_killed":     func(t *testing.T, c *cluster) { daemonIsKilled(c, "mariadbd", "mariadb") },
		"slurmdbd_is_killed":    func(t *testing.T, c *cluster) { daemonIsKilled(c, "slurmdbd", "slurmdbd") },
		"munged_is_killed":      mungedIsKilled,
		"resume_request_lost":   resumeRequestLost,
		"node_killed_unwatched": nodeKilledUnwatched,
	})
}

// A job lives, its node is adopted, and the next resume works.
func controllerIsKilled(t *testing.T, c *cluster) {
	h := c.hold("adopted")
	node := c.show(h.id).Nodes[0]
	before := c.init(node)
	c.killService("controller")
	if out := c.head("srun", "--nodes=2", "--exclusive", "hostname"); strings.Count(out, "gpu-dy-p5e-") != 2 || strings.Contains(out, node+"\n") {
		t.Errorf("the next job ran on %q", out)
	}
	if now := c.init(node); now != before {
		t.Errorf("%s was process %d and is %d", node, before, now)
	}
	h.lives()
}

func slurmctldIsKilled(t *testing.T, c *cluster) {
	h := c.hold("unled")
	h.saved()
	c.killService("slurmctld")
	if j := c.show(h.id); j.State != "RUNNING" {
		t.Errorf("after the restart: %+v", j)
	}
	c.head("srun", "true")
	h.lives()
}

// The ID of a job that slurmctld has not saved when it is killed is given to no other.
// One that ends in order has saved all, and its successor counts on.
func jobIDsStayGiven(t *testing.T, c *cluster) {
	since := time.Now()
	all := []int{c.nextJob()}
	c.await("slurmctld saves its state", 20*time.Second, func() bool {
		state, err := os.Stat(c.path("state", "slurmctld", "job_state"))
		return err == nil && state.ModTime().After(since)
	})
	all = append(all, c.nextJob()) // is not saved for five seconds
	c.killService("slurmctld")
	all = append(all, c.nextJob())
	if all[2] <= all[1] {
		t.Errorf("job %d was given out, and after the death of slurmctld job %d", all[1], all[2])
	}
	old := c.service("slurmctld")
	c.head("scontrol", "shutdown", "slurmctld")
	c.await("a new slurmctld is ready", 20*time.Second, func() bool {
		now := c.service("slurmctld")
		return now != 0 && now != old && c.ready("slurmctld")
	})
	if all = append(all, c.nextJob()); all[3] != all[2]+1 {
		t.Errorf("after an orderly end of slurmctld job %d follows %d", all[3], all[2])
	}
	for _, id := range []int{all[0], all[2], all[3]} {
		c.head("scancel", strconv.Itoa(id))
	}
}

// A node that Slurm drains because it still has a job of that ID lets its other jobs end
// and is in service again.
func duplicateJob(t *testing.T, c *cluster) {
	h := c.hold("beside")
	node := c.show(h.id).Nodes[0]
	before := c.init(node)
	c.head("scontrol", "update", "NodeName="+node, "State=DRAIN", "Reason=Duplicate jobid")
	h.lives()
	c.await(node+" is replaced", time.Minute, func() bool {
		state := c.head("sinfo", "--noheader", "--Node", "--nodes="+node, "--format=%T")
		return c.init(node) != before && !strings.HasPrefix(state, "drain")
	})
	if out := c.head("srun", "--nodelist="+node, "hostname"); strings.TrimSpace(out) != node {
		t.Errorf("the next job ran on %q", out)
	}
}

// A job ends while nobody can hear of it: slurmctld takes it for running until its node
// registers and a minute is over.
func jobEndsUnheard(t *testing.T, c *cluster) {
	h := c.hold("unnoticed")
	h.saved()
	init := c.init(c.show(h.id).Nodes[0])
	slurmctld := c.service("slurmctld")
	c.kill("slurmctld", slurmctld)
	all := machineProcesses()
	for _, p := range c.processes() {
		if p.name == "slurmstepd" && all[p.parent].pid == init {
			_ = syscall.Kill(p.pid, syscall.SIGKILL) // the other of the two may be gone
		}
	}
	c.await("the job is not taken for running any more", 150*time.Second, func() bool {
		r := c.run("exec", "--", "squeue", "--noheader", "--states=all", "--format=%T", "--jobs="+h.id)
		return r.code == 0 && strings.TrimSpace(r.stdout) != "RUNNING"
	})
	c.head("scancel", h.id)
}

// A service that was stopped listens and answers nobody.
func serviceHangs(t *testing.T, c *cluster) {
	for _, name := range []string{"slurmctld", "controller"} {
		pid := c.service(name)
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		c.await("status says so", 20*time.Second, func() bool {
			r := c.run("status")
			return r.code == 3 && strings.Contains(r.stdout+r.stderr, "service "+name+" is hanging since ")
		})
		if r := c.run("up", "--no-test", "cluster.yaml"); r.code != 1 || !strings.Contains(r.stderr, name+" hangs since ") {
			t.Errorf("up: exit code %d\n%s", r.code, r.stderr)
		}
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		c.await(name+" is ready", 20*time.Second, func() bool { return c.ready(name) })
	}
	c.must("up", "--no-test", "cluster.yaml")
}

func slurmdIsKilled(t *testing.T, c *cluster) {
	h := c.hold("undaemoned")
	node := c.show(h.id).Nodes[0]
	step := func() string { return strings.TrimSpace(c.head("srun", "--overlap", "--jobid="+h.id, "hostname")) }
	// Slurm's slurmd saves which jobs had their prolog after it has launched a step, and starts no step of others.
	if out := step(); out != node {
		t.Errorf("a step ran on %q", out)
	}
	before, old := c.init(node), c.slurmd(node)
	c.kill("slurmd of "+node, old)
	c.await("a new slurmd runs", 10*time.Second, func() bool {
		now := c.slurmd(node)
		return now != 0 && now != old
	})
	if out := step(); out != node {
		t.Errorf("a new step ran on %q", out)
	}
	if now := c.init(node); now != before {
		t.Errorf("%s was process %d and is %d", node, before, now)
	}
	h.lives()
}

func nodeIsKilled(t *testing.T, c *cluster) {
	h := c.hold("requeued", "--nodes=2", "--exclusive")
	h.recorded()
	node := c.show(h.id).Nodes[1]
	c.kill(node, c.init(node))
	h.runs(1)
	h.letGo()
	j := h.ends()
	if j.State != "COMPLETED" || len(j.Attempts) != 2 || j.Attempts[0].State != "NODE_FAIL" {
		t.Errorf("job show: %+v", j)
	}
	if rows := h.sacct(); rows != "NODE_FAIL\nCOMPLETED\n" {
		t.Errorf("sacct --duplicates: %q", rows)
	}
}

// daemonIsKilled kills a daemon, here the process's name and the service's: a job
// does not notice, and new jobs and accounting work again.
func daemonIsKilled(c *cluster, program, service string) {
	c.t.Helper()
	h := c.hold("without-" + program)
	old := c.service(program)
	c.kill(program, old)
	c.await("a new "+program+" is ready", 20*time.Second, func() bool {
		now := c.service(program)
		return now != 0 && now != old && c.ready(service)
	})
	c.head("srun", "true")
	h.lives()
	c.await("sacct knows the job", 30*time.Second, func() bool { return strings.HasPrefix(h.sacct(), "COMPLETED") })
}

// munged serves all machines. When it dies, steps and jobs on all of them wait for the
// next one, and none fails.
func mungedIsKilled(_ *testing.T, c *cluster) {
	daemonIsKilled(c, "munged", "munged")
	for range 4 {
		c.kill("munged", c.service("munged"))
		if out := c.head("srun", "--nodes=2", "--exclusive", "hostname"); strings.Count(out, "gpu-dy-p5e-") != 2 {
			c.t.Errorf("without munged a job ran on %q", out)
		}
		c.await("munged is ready", 20*time.Second, func() bool { return c.ready("munged") && c.service("munged") != 0 })
	}
}

// A controller that hangs does not hear the request, and its successor has to
// find out what Slurm wants.
func resumeRequestLost(t *testing.T, c *cluster) {
	old := c.service("controller")
	if err := syscall.Kill(old, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	h := c.submit("unheard", "--nodes=4", "--exclusive")
	c.await("slurmctld powers nodes up", 20*time.Second, func() bool {
		return c.show(h.id).State == "CONFIGURING" || c.show(h.id).State == "RUNNING"
	})
	c.killService("controller")
	h.runs(0)
	h.lives()
}

// A node dies while nobody watches.
func nodeKilledUnwatched(t *testing.T, c *cluster) {
	h := c.hold("unwatched")
	h.recorded()
	node := c.show(h.id).Nodes[0]
	if err := syscall.Kill(c.service("controller"), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	c.kill(node, c.init(node))
	c.killService("controller")
	h.runs(1)
	h.letGo()
	if j := h.ends(); j.State != "COMPLETED" || len(j.Attempts) != 2 || j.Attempts[0].State != "NODE_FAIL" {
		t.Errorf("job show: %+v", j)
	}
}
