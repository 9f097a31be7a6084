package test

import (
	"os"
	"strings"
	"time"
)

// held is a batch job that runs until the test lets it go.
type held struct {
	c        *cluster
	name, id string
}

const heldScript = `#!/bin/bash
#SBATCH --job-name=NAME
#SBATCH --output=NAME.out --open-mode=append
echo "run ${SLURM_RESTART_COUNT:-0} on $SLURM_JOB_NODELIST"
until [ -e NAME.go ]; do sleep 0.1; done
echo ended
`

// hold submits a job that holds its nodes, and waits until it runs. Its name is
// its own in the working directory.
func (c *cluster) hold(name string, options ...string) *held {
	c.t.Helper()
	h := c.submit(name, options...)
	h.runs(0)
	return h
}

// submit submits a job that will hold its nodes.
func (c *cluster) submit(name string, options ...string) *held {
	c.t.Helper()
	c.file(name+".sbatch", strings.ReplaceAll(heldScript, "NAME", name))
	id := c.head(append(append([]string{"sbatch", "--parsable"}, options...), name+".sbatch")...)
	h := &held{c: c, name: name, id: strings.TrimSpace(id)}
	// A test that fails must not hold the nodes that the next one needs.
	c.t.Cleanup(func() { c.run("exec", "--", "scancel", h.id) })
	return h
}

// runs waits until the job's script has begun after so many restarts.
func (h *held) runs(restarts int) {
	h.c.t.Helper()
	begun := "run " + string(rune('0'+restarts)) + " on "
	h.c.await("job "+h.name+" runs", 40*time.Second, func() bool {
		return strings.Contains(h.c.read(h.name+".out"), begun)
	})
}

// letGo lets the job end.
func (h *held) letGo() {
	h.c.t.Helper()
	h.c.file(h.name+".go", "")
}

// lives lets the job end, and fails the test if it did not run all the time and
// to its end.
func (h *held) lives() {
	h.c.t.Helper()
	h.letGo()
	j := h.ends()
	out := h.c.read(h.name + ".out")
	if j.State != "COMPLETED" || strings.Count(out, "\n") != 2 || !strings.HasPrefix(out, "run 0 on ") || !strings.HasSuffix(out, "\nended\n") {
		h.c.t.Errorf("job %s did not live on: %+v\n%s", h.name, j, out)
	}
}

// recorded waits until accounting knows that the job runs: slurmctld tells it a
// moment later.
func (h *held) recorded() {
	h.c.t.Helper()
	h.c.await("sacct knows job "+h.name, 40*time.Second, func() bool { return h.sacct() == "RUNNING\n" })
}

// saved waits until slurmctld has written down that the job runs and that its nodes are
// up, which it does in this order and up to five seconds later (SAVE_MAX_WAIT in
// state_save.c of 22.05); if it dies before, it knows of no run. So that there is
// something to write after the job's start, another job comes and goes, and so does a
// comment on the nodes.
func (h *held) saved() {
	h.c.t.Helper()
	since := time.Now()
	other := strings.TrimSpace(h.c.head("sbatch", "--parsable", "--hold", "--output=/dev/null", "--wrap=true"))
	h.c.head("scancel", other)
	h.c.head("scontrol", "update", "NodeName=ALL", "Comment=saved")
	for _, file := range []string{"job_state", "node_state"} {
		h.c.await("slurmctld saves "+file, 20*time.Second, func() bool {
			state, err := os.Stat(h.c.path("state", "slurmctld", file))
			return err == nil && state.ModTime().After(since)
		})
	}
}

// sacct are the states of the job's runs in accounting.
func (h *held) sacct() string {
	h.c.t.Helper()
	return h.c.head("sacct", "--duplicates", "--noheader", "--parsable2", "--allocations", "--format=State", "--jobs="+h.id)
}

// ends waits for the job's end.
func (h *held) ends() shownJob {
	h.c.t.Helper()
	var j shownJob
	h.c.await("job "+h.name+" ends", 40*time.Second, func() bool {
		j = h.c.show(h.id)
		return j.Ended
	})
	return j
}
