package test

import (
	"os"
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
	want := "muster: the file no longer has node gpu-dy-p5e-3, but job " + busy.id + " runs on it: wait for it, or `muster job cancel " + busy.id + "`"
	if r.code != 1 || !strings.Contains(r.stderr, want) {
		t.Errorf("3 -> 2 with a job on node 3: exit code %d\n%s", r.code, r.stderr)
	}
	if n := c.nodes(); len(n) != 3 {
		t.Errorf("after the refusal: %v", n)
	}
	busy.lives()
	c.resize(2)
	h.lives()
	regionStays(t, c)
	refusedBySlurm(t, c)
	upFromElsewhere(t, c)
}

// TestChangeCut kills an `up` that changes a cluster which runs, as soon as it has written all of the new configuration: the next one sees to it that
// the daemons read it.
func TestChangeCut(t *testing.T) {
	t.Parallel()
	c := newCluster(t, fileOf(1))
	for most := 2; most <= 5; most++ {
		c.file("cluster.yaml", fileOf(most))
		before, err := os.Stat(c.path("cluster.json"))
		if err != nil {
			t.Fatal(err)
		}
		c.cut(func() bool {
			now, err := os.Stat(c.path("cluster.json"))
			return err == nil && !os.SameFile(before, now)
		}, "up", "--no-test", "cluster.yaml")
		c.must("up", "--no-test", "cluster.yaml")
		if n := c.nodes(); len(n) != most {
			t.Errorf("%d nodes, and Slurm has %d", most, len(n))
		}
	}
}

// regionStays: programs of jobs that run sign their requests to S3 with the region that the cluster was started in.
func regionStays(t *testing.T, c *cluster) {
	c.file("cluster.yaml", strings.Replace(fileOf(2), "us-east-1", "us-west-2", 1))
	r := c.run("up", "--no-test", "cluster.yaml")
	if want := "the region us-west-2 (S3 stays in us-east-1 until `muster down` and `muster up`)"; r.code != 0 || !strings.Contains(r.stderr, want) {
		t.Errorf("another region: exit code %d\n%s\nwant %s", r.code, r.stderr, want)
	}
	c.head("/usr/bin/aws", "s3", "mb", "s3://answers")
	c.resize(2)
}

// refusedBySlurm: what slurmctld does not take leaves the cluster as it is.
func refusedBySlurm(t *testing.T, c *cluster) {
	good, ctld := c.read("cluster.yaml"), c.service("slurmctld")
	conf, err := os.ReadFile(c.path("etc", "slurm", "slurm.conf"))
	if err != nil {
		t.Fatal(err)
	}
	for setting, want := range map[string]string{
		"PriorityTyp: x": "unrecognized key: PriorityTyp", "TopologyPlugin: topology/tree": "cannot stat file /etc/slurm/topology.conf",
		"StateSaveLocation: /etc": "StateSaveLocation cannot be set for a cluster on this machine",
	} {
		c.file("cluster.yaml", strings.Replace(good, "  Scheduler: slurm\n", "  Scheduler: slurm\n  SlurmSettings: {CustomSlurmSettings: [{"+setting+"}]}\n", 1))
		if r := c.run("up", "--no-test", "cluster.yaml"); r.code != 1 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: exit code %d\n%s", setting, r.code, r.stderr)
		}
		if now, err := os.ReadFile(c.path("etc", "slurm", "slurm.conf")); err != nil || string(now) != string(conf) || c.service("slurmctld") != ctld {
			t.Errorf("%s: the cluster was changed", setting)
		}
	}
	c.file("cluster.yaml", good)
	c.must("up", "--no-test", "cluster.yaml")
	if c.service("slurmctld") != ctld {
		t.Error("slurmctld was started again for nothing")
	}
}

// upFromElsewhere: `up` from another directory leaves to jobs what they use, and
// shows that directory, too.
func upFromElsewhere(t *testing.T, c *cluster) {
	c.file("mark", "here")
	id := strings.TrimSpace(c.head("sbatch", "--parsable", "--hold", "--exclusive", "--output=waits.out", "--wrap=cat mark; sleep 0.1"))
	other := *c
	other.dir = t.TempDir()
	other.file("cluster.yaml", c.read("cluster.yaml"))
	other.must("up", "--no-test", "cluster.yaml")
	other.head("sh", "-c", "echo x >written")
	if got := other.read("written"); got != "x\n" {
		t.Errorf("what was written there is %q on the host", got)
	}
	c.head("scontrol", "release", id)
	c.await("the job that waited has ended", time.Minute, func() bool { return c.show(id).State != "PENDING" && c.show(id).State != "RUNNING" })
	c.file("cluster.yaml", strings.Replace(fileOf(3), "/fsx", "/other", 1))
	r := c.run("up", "--no-test", "cluster.yaml")
	for _, want := range []string{"  it was made of another file: " + other.dir + "/cluster.yaml\n", "this needs a yes: give --yes, or run it on a terminal"} {
		if r.code != 2 || !strings.Contains(r.stderr, want) {
			t.Errorf("up of another file: exit code %d\n%s\nwant %s", r.code, r.stderr, want)
		}
	}
	if n := c.nodes(); len(n) != 2 {
		t.Errorf("after the refusal: %v", n)
	}
	if j, got := c.show(id), c.read("waits.out"); j.State != "COMPLETED" || got != "here" {
		t.Errorf("it wrote %q: %+v", got, j)
	}
}

func (c *cluster) resize(most int) {
	c.t.Helper()
	c.file("cluster.yaml", fileOf(most))
	c.must("up", "--no-test", "cluster.yaml")
}
