package test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
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
	h.runs(1)
	h.letGo()
	// A job gets all of its nodes or none: node 1 was not started for half of one.
	j := h.ends()
	if j.State != "COMPLETED" || len(j.Nodes) != 2 || slices.Contains(j.Nodes, "gpu-dy-p5e-2") {
		t.Fatalf("the job that waited: %+v", j)
	}
	c.await("idle nodes power down", 80*time.Second, func() bool {
		return c.init(j.Nodes[0]) == 0 && c.init(j.Nodes[1]) == 0
	})
	ended, err := time.ParseInLocation("2006-01-02T15:04:05", strings.TrimSpace(c.head("sacct", "--noheader", "--allocations", "--format=End%19", "--jobs="+h.id)), time.Local)
	if err != nil {
		t.Fatal(err)
	}
	if took := c.eventTime("suspend requested", j.Nodes[0], ended).Sub(ended); took < 58*time.Second {
		t.Errorf("nodes were powered down after %s of a minute", took)
	}
	c.await("nodes are idle~ again", 20*time.Second, func() bool {
		return c.head("sinfo", "--noheader", "--format=%D %t") == "4 idle~\n"
	})
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

// eventTime is when the first event of a kind and a node was after a time.
func (c *cluster) eventTime(kind, node string, after time.Time) time.Time {
	c.t.Helper()
	for line := range strings.Lines(c.must("events", "-o", "json")) {
		var e struct {
			Time        time.Time
			Kind, Nodes string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			c.t.Fatal(err)
		}
		names, err := slurm.Expand(e.Nodes)
		if err != nil {
			c.t.Fatal(err)
		}
		if e.Kind == kind && slices.Contains(names, node) && e.Time.After(after) {
			return e.Time
		}
	}
	c.t.Fatalf("no event %q of %s after %s", kind, node, after)
	return time.Time{}
}
