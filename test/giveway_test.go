package test

import (
	"strings"
	"testing"
	"time"
)

// early is a program that saves and ends well when it is told, and otherwise when it has gone on from there.
const early = `import os, signal, sys, time
run = int(os.environ.get("SLURM_RESTART_COUNT", "0"))
def save(*_):
    print("saved", flush=True)
    sys.exit(0)
signal.signal(signal.SIGUSR1, save)
print("step", run + 1, flush=True)
while run == 0:
    time.sleep(0.05)
print("trained", flush=True)
`

// earlyJob is a job of it, on all nodes there are.
const earlyJob = `Job: NAME
Nodes: 1
Ranks: 2
Launcher: srun
Python: /usr/bin/python3
Script: early.py
Account: research
QoS: train
LogPattern: 'step (?P<step>\d+)'
Time: TIME
`

// TestEarly: ranks that save and end with 0 when they are told have not completed, whether their nodes are for another job or
// their time is over. The job goes on later, and completes then.
func TestEarly(t *testing.T) {
	t.Parallel()
	c := unmade(t, fileOf(1))
	c.file("muster.yaml", heldModels)
	c.must("up", "--no-test", "cluster.yaml")
	c.file("early.py", early)
	c.each(map[string]func(*testing.T, *cluster){
		"for_an_urgent_job":  earlyForAnother,
		"for_its_time":       earlyForItsTime,
		"stops_if_it_should": earlyStops,
	})
}

// startEarly starts such a job and returns it with its log, once its ranks wait for the signal.
func (c *cluster) startEarly(name, time, more string) (id, log string) {
	c.t.Helper()
	c.file(name+".yaml", strings.NewReplacer("NAME", name, "TIME", time).Replace(earlyJob)+more)
	id = strings.TrimSpace(c.must("job", "submit", name+".yaml"))
	c.t.Cleanup(func() { c.run("job", "cancel", id) })
	log = "logs/" + name + "-" + id + ".out"
	c.await("its ranks are there", patience, func() bool { return strings.Count(c.read(log), "step 1\n") == 2 })
	return id, log
}

// wentOn holds that the job's first run was judged as a class, and the second completed.
func (c *cluster) wentOn(id, log, class string) {
	c.t.Helper()
	k := &kept{cluster: c, id: id}
	var j shownKept
	c.await("the job's last run is judged", 5*time.Minute, func() bool {
		j = k.look()
		return j.Ended && j.Kept != nil && len(j.Kept.Rounds) > 1
	})
	if r := j.Kept.Rounds; j.State != "COMPLETED" || len(r) != 2 || r[0].Class != class || r[1].Class != "completed" {
		c.t.Errorf("job %s is %s after %+v\n%s", id, j.State, r, c.read(log))
	}
	if text := c.read(log); strings.Count(text, "saved\n") != 2 || strings.Count(text, "trained\n") != 2 {
		c.t.Errorf("job %s wrote\n%s", id, text)
	}
}

// earlyForAnother: the nodes are for a job that is more urgent.
func earlyForAnother(t *testing.T, c *cluster) {
	id, log := c.startEarly("room", "60", "")
	c.file("urgent.sh", "#!/bin/bash\n#SBATCH --job-name=urgent --account=research --qos=urgent --nodes=1 --exclusive --output=urgent.out\nhostname\n")
	c.head("sbatch", "urgent.sh")
	c.await("the urgent job has run", patience, func() bool { return c.jobs()["urgent"].State == "COMPLETED" })
	c.wentOn(id, log, "preempted")
}

// earlyForItsTime: Slurm itself tells a job of a minute that its time is nearly over.
func earlyForItsTime(t *testing.T, c *cluster) {
	id, log := c.startEarly("short", "1", "")
	c.wentOn(id, log, "time-limit")
}

// earlyStops: a job that is not to go on after a failure says that it has not completed.
func earlyStops(t *testing.T, c *cluster) {
	id, log := c.startEarly("stops", "60", "OnFailure: stop\n")
	c.head("scancel", "--batch", "--signal=USR1", id)
	k := &kept{cluster: c, id: id}
	c.await("the job's end is judged", patience, func() bool { j := k.look(); return j.Ended && j.Kept != nil && len(j.Kept.Rounds) > 0 })
	if j := k.look(); j.State != "FAILED" || len(j.Kept.Rounds) != 1 || j.Kept.Rounds[0].Class != "time-limit" || j.Kept.Rounds[0].Action != "stop" {
		t.Errorf("job %s is %s after %+v\n%s", id, j.State, j.Kept.Rounds, c.read(log))
	}
}
