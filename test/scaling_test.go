package test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestScaling waits for what takes a minute: nodes go when they were idle for the
// shortest time that a cluster file knows, and a node that could not be launched
// is tried again.
func TestScaling(t *testing.T) {
	t.Parallel()
	file := strings.Replace(fileOf(4), "  SlurmQueues:", "  SlurmSettings: {ScaledownIdletime: 1}\n  SlurmQueues:", 1)
	c := newCluster(t, file)
	c.breakNode("gpu-dy-p5e-2")
	h := c.submit("elsewhere", "--nodes=2", "--exclusive")
	c.await("node 2 is down", 20*time.Second, func() bool {
		return strings.HasPrefix(c.nodes()["gpu-dy-p5e-2"].Reason, "muster: launch failed: boot gpu-dy-p5e-2: ")
	})
	c.mendNode("gpu-dy-p5e-2")
	began := time.Now()
	h.runs(1)
	h.letGo()
	// A job gets all of its nodes or none: node 1 was not started for half of one.
	j := h.ends()
	if j.State != "COMPLETED" || len(j.Nodes) != 2 || slices.Contains(j.Nodes, "gpu-dy-p5e-2") {
		t.Fatalf("the job that waited: %+v", j)
	}
	idle := time.Now()
	c.await("idle nodes power down", 80*time.Second, func() bool {
		return c.init(j.Nodes[0]) == 0 && c.init(j.Nodes[1]) == 0
	})
	if took := time.Since(idle); took < 55*time.Second {
		t.Errorf("nodes powered down after %s of a minute", took)
	}
	c.await("nodes are idle~ again", 20*time.Second, func() bool {
		return c.head("sinfo", "--noheader", "--format=%D %t") == "4 idle~\n"
	})
	if took := time.Since(began); took < time.Minute {
		t.Errorf("the broken node came back after %s of a minute", took)
	}
	if out := c.head("srun", "--nodelist=gpu-dy-p5e-2", "hostname"); out != "gpu-dy-p5e-2\n" {
		t.Errorf("the mended node ran %q", out)
	}
}

// breakNode makes a node unable to boot: its log file cannot be opened.
func (c *cluster) breakNode(node string) {
	c.t.Helper()
	if err := os.Mkdir(c.logFile(node), 0o755); err != nil {
		c.t.Fatal(err)
	}
}

// mendNode ends breakNode.
func (c *cluster) mendNode(node string) {
	c.t.Helper()
	if err := os.Remove(c.logFile(node)); err != nil {
		c.t.Fatal(err)
	}
}

// logFile is where a node's output goes.
func (c *cluster) logFile(node string) string {
	return filepath.Join(c.path("log", "nodes"), node+".log")
}
