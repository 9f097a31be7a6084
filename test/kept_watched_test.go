package test

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestKeptJobsAreWatched finds out whether kept jobs go on.
func TestKeptJobsAreWatched(t *testing.T) {
	t.Parallel()
	newCluster(t, fileOf(5)+dataFile).each(map[string]func(*testing.T, *cluster){
		"finds_a_hang":     keptFindsAHang,
		"lets_it_evaluate": keptLetsItEvaluate,
	})
}

// TestKeptJobsAreReported finds out what kept jobs do, and says it.
func TestKeptJobsAreReported(t *testing.T) {
	t.Parallel()
	newCluster(t, fileOf(5)+dataFile).each(map[string]func(*testing.T, *cluster){
		"is_reported": keptIsReported,
		"is_adopted":  keptIsAdopted,
	})
}

// TestKeptJobsOnTheirNodes finds out what is wrong with the nodes of kept jobs.
func TestKeptJobsOnTheirNodes(t *testing.T) {
	t.Parallel()
	newCluster(t, fileOf(5)+dataFile).each(map[string]func(*testing.T, *cluster){
		"despite_names":      keptDespiteNames,
		"drains_on_evidence": keptDrainsOnEvidence,
		"asks_kernels":       keptAsksKernels,
	})
}

// A rank that stands still has all others wait for it.
func keptFindsAHang(t *testing.T, c *cluster) {
	k := c.keep("hang", 200, keptWishes+"/fsx1/hang/checkpoints --hang=10s")
	k.reaches(15)
	c.await("its samples are seen", time.Minute, func() bool { j := k.look(); return j.Kept != nil && len(j.Kept.Samples) > 5 })
	node := c.show(k.id).Nodes[1]
	if r := c.node(node, "kill -STOP "+k.text("pids/0.1")); r.code != 0 {
		t.Fatal(r.stderr)
	}
	j := k.completes()
	if j.Kept.Restarts < 1 || j.Kept.Rounds[0].Class != "hang" {
		t.Errorf("got %+v", j.Kept)
	}
	said := k.events()
	if !strings.Contains(said, "rank 1 on "+node+" is stopped") {
		t.Errorf("events:\n%s", said)
	}
	// A look comes some seconds after the limit, on busy cores later still.
	found := regexp.MustCompile(`job hangs: job ` + k.id + `: no line of progress for (\d+):(\d\d), and 0:10 is the limit`).FindStringSubmatch(said)
	if found == nil {
		t.Fatalf("events:\n%s", said)
	}
	minutes, _ := strconv.Atoi(found[1])
	seconds, _ := strconv.Atoi(found[2])
	if seconds += 60 * minutes; seconds < 10 {
		t.Errorf("it was found after %d s, before its limit", seconds)
	}
	if r := j.Kept.Rounds[0]; r.AtFault != node {
		t.Errorf("at fault is %q, and not %s", r.AtFault, node)
	}
	if files, _ := filepath.Glob(filepath.Join(c.dir, "slurm-"+k.id+".out.hang-*")); len(files) == 0 {
		t.Error("its stacks are nowhere")
	}
}

// An evaluation that is some two hundred times as long as a step, and some times as long as the limit, is told of and left alone;
// a rank that stands still afterwards is found.
func keptLetsItEvaluate(t *testing.T, c *cluster) {
	k := c.keep("evaluate", 200, keptWishes+"/fsx1/evaluate/checkpoints --hang=auto:10s\nexport EVALUATES_FOR=25")
	k.reaches(30)
	c.await("it is told to be slow", 2*time.Minute, func() bool { return strings.Contains(k.events(), "job slow: job "+k.id+": no line of progress for ") })
	c.await("it goes on", 2*time.Minute, func() bool { return strings.Contains(k.events(), "job heard: job "+k.id+" goes on") })
	if said := k.events(); strings.Contains(said, "job hangs") || !strings.Contains(said, " processes of its ranks compute; ") || strings.Count(said, "job slow") != 1 {
		t.Errorf("events:\n%s", said)
	}
	if j := k.look(); j.Kept == nil || j.Kept.Restarts != 0 || len(j.Kept.Rounds) != 0 {
		t.Errorf("got %+v", j.Kept)
	}
	k.reaches(40)
	node := c.show(k.id).Nodes[1]
	if r := c.node(node, "kill -STOP "+k.text("pids/0.1")); r.code != 0 {
		t.Fatal(r.stderr)
	}
	j := k.completes()
	if said := k.events(); !strings.Contains(said, "job hangs: job "+k.id) || !strings.Contains(said, "rank 1 on "+node+" is stopped") {
		t.Errorf("events:\n%s", said)
	}
	if r := j.Kept.Rounds; len(r) != 2 || r[0].Class != "hang" || r[0].AtFault != node {
		t.Errorf("got %+v", r)
	}
}

func keptIsAdopted(t *testing.T, c *cluster) {
	k := c.keep("adopted", 200, "# it wishes nothing")
	k.reaches(5)
	if j := k.look(); j.Kept != nil {
		t.Errorf("it is kept: %+v", j.Kept)
	}
	c.must("job", "adopt", k.id, "--checkpoints=/fsx1/adopted/checkpoints", "--restarts=2")
	c.await("it is kept", time.Minute, func() bool { j := k.look(); return j.Kept != nil && j.Kept.Checkpoint != nil })
	if text := c.must("job", "show", k.id); !strings.Contains(text, "\ncheckpoint ") || !strings.Contains(text, "\nphase ") {
		t.Errorf("job show:\n%s", text)
	}
	c.must("node", "kill", c.show(k.id).Nodes[0])
	if j := k.completes(); j.Kept.Restarts != 1 {
		t.Errorf("got %+v", j.Kept)
	}
}
