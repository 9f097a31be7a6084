package test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestBurnIn has new nodes prove themselves before their first job: one that is unfit is replaced, whoever dies meanwhile.
func TestBurnIn(t *testing.T) {
	t.Parallel()
	c := unmade(t, fileOf(3)+"  - Name: plain\n    Networking: {SubnetIds: [subnet-12345678]}\n    ComputeResources:\n    - {Name: c6i, InstanceType: c6i.large, MinCount: 0, MaxCount: 1}\n")
	c.file("muster.yaml", "BurnIn: {Queues: [gpu], Suites: [gpu, collectives, storage], Minutes: 3}\n")
	c.must("up", "--no-test", "cluster.yaml")
	if got := c.head("scontrol", "show", "config"); !strings.Contains(got, "ResumeTimeout           = 360 sec") {
		t.Errorf("Slurm does not give nodes the time: %s", got)
	}
	c.each(map[string]func(*testing.T, *cluster){
		"replaces_an_unfit_node": burnInReplaces,
		"outlives_a_controller":  burnInOutlives,
	})
	if r := c.run("exec", "--", "srun", "--partition=plain", "hostname"); r.code != 0 || strings.Contains(c.must("events"), "burn-in            plain") {
		t.Errorf("a queue without it: exit code %d: %s%s", r.code, r.stderr, c.must("events"))
	}
	c.standsInForSrun("plain-dy-c6i-1")
	c.looksAlone("plain-dy-c6i-1")
}

// burnt is an event.
type burnt struct{ Kind, Nodes, Reason, Report string }

// burnIns are the events of a node's burn-ins.
func (c *cluster) burnIns(node string) (all []burnt) {
	c.t.Helper()
	for line := range strings.Lines(c.must("events", "-o", "json")) {
		var e burnt
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			c.t.Fatal(err)
		}
		if e.Nodes == node && (e.Kind == "burn-in" || e.Kind == "boot failed" || e.Kind == "terminate") {
			all = append(all, e)
		}
	}
	return all
}

// first runs a job that waits for a node, and returns its end.
func (c *cluster) first(node string) (ended func() string) {
	c.t.Helper()
	said := make(chan string, 1)
	cmd := c.command("exec", "--", "srun", "--partition=gpu", "--nodelist="+node, "sh", "-c", "hostname; cat /var/lib/muster/burn-in/fitness.json")
	go func() {
		out, err := cmd.CombinedOutput()
		said <- fmt.Sprintf("%v %s", err, out)
	}()
	return func() string { return <-said }
}

// measuring waits until a node is in its burn-in.
func (c *cluster) measuring(node string) {
	c.t.Helper()
	c.await(node+" measures", patience, func() bool {
		log, _ := os.ReadFile(c.path("log", "nodes", node+".log"))
		return strings.Contains(string(log), "meet over gloo")
	})
}

// While its ranks measure, a node's own disk breaks: nobody gets it, and its job runs on what comes in its place.
func burnInReplaces(t *testing.T, c *cluster) {
	const node = "gpu-dy-p5e-1"
	ended := c.first(node)
	c.measuring(node)
	if said := c.must("job", "show", strings.TrimSpace(c.head("squeue", "--noheader", "--format=%i", "--nodelist="+node))); !strings.Contains(said, "waits for its nodes to power up: "+node+"; new ones prove themselves first, for up to 3 min") {
		t.Errorf("why it waits: %s", said)
	}
	if r := c.node(node, "mount -t tmpfs -o ro tmpfs /scratch"); r.code != 0 {
		t.Fatal(r.stderr)
	}
	if said := ended(); !strings.HasPrefix(said, "<nil> ") || !strings.Contains(said, node) || !strings.Contains(said, "storage-write") {
		t.Errorf("the job: %s", said)
	}
	events := c.burnIns(node)
	if len(events) != 3 || events[0].Kind != "boot failed" || events[1].Kind != "terminate" || events[2].Kind != "burn-in" {
		t.Fatalf("%+v", events)
	}
	if got := events[0].Reason; got != "burn in: storage-measured: read-only" {
		t.Errorf("it failed for %q", got)
	}
	var v verified
	if report, err := os.ReadFile(events[0].Report); err != nil || json.Unmarshal(report, &v) != nil || !slices.Equal(v.Nodes, []string{node}) {
		t.Errorf("%v: its report %q is %s", err, events[0].Report, report)
	}
	c.holds(v, "fail", "storage-measured")
	if got := events[2].Reason; !strings.HasPrefix(got, "fit after ") || !strings.Contains(got, " s: collectives, storage, all-reduce-bandwidth ") || !strings.Contains(got, ", storage-write ") {
		t.Errorf("it proved %q", got)
	}
}

// A controller that is killed while a node measures is told of it all the same, once, and one that comes later does not say it again.
func burnInOutlives(t *testing.T, c *cluster) {
	const node = "gpu-dy-p5e-2"
	ended := c.first(node)
	c.measuring(node)
	c.killService("controller")
	if said := ended(); !strings.HasPrefix(said, "<nil> ") || !strings.Contains(said, node) {
		t.Errorf("the job: %s", said)
	}
	c.await("its burn-in is told", patience, func() bool { return len(c.burnIns(node)) == 1 })
	c.killService("controller")
	c.await("the controller answers", patience, func() bool { return c.run("fleet").code == 0 })
	if events := c.burnIns(node); len(events) != 1 || events[0].Kind != "burn-in" {
		t.Errorf("%+v", events)
	}
}

// standsInForSrun holds what starts tasks on a machine alone against srun itself: the same tasks, which hear and know the same.
func (c *cluster) standsInForSrun(node string) {
	c.t.Helper()
	const task = `read -r word; echo "$SLURMD_NODENAME $SLURM_PROCID $SLURM_LOCALID of $SLURM_NTASKS heard $word"; read -r more || echo the end`
	lines := func(start string) []string {
		r := c.run("exec", "--", "sh", "-c", "echo go | srun --partition=plain --nodelist="+node+" --quiet "+start+` sh -c '`+task+`'`)
		if r.code != 0 {
			c.t.Fatalf("%s: %s", start, r.stderr)
		}
		all := strings.Split(strings.TrimSpace(r.stdout), "\n")
		slices.Sort(all)
		return all
	}
	theirs, ours := lines("--ntasks=2"), lines("--ntasks=1 --cpus-per-task=2 /opt/muster/bin/muster agent verify tasks --count=2 --node="+node+" --")
	if len(theirs) != 4 || !slices.Equal(theirs, ours) {
		c.t.Errorf("srun: %q, alone: %q", theirs, ours)
	}
}

// looksAlone has a node verified without Slurm, and kills that: nothing is left on its disk.
func (c *cluster) looksAlone(node string) {
	c.t.Helper()
	var v verified
	r := c.node(node, "cd / && muster verify --alone host gpu storage -o json")
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil || len(v.Suites) != 3 || !slices.Equal(v.Nodes, []string{node}) {
		c.t.Fatalf("%v: %s%s", err, r.stdout, r.stderr)
	}
	c.holds(v, "skip", "daemons", "gpu-count")
	if got := v.results("storage-write"); len(got) != 1 || got[0].Verdict != "skip" { // a c6i.large has no disks of its own
		c.holds(v, "pass", "storage-write", "storage-read")
	}
	r = c.node(node, "cd / && muster verify --alone storage --disk /var/tmp -o json")
	v = verified{}
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil || r.code != 0 {
		c.t.Fatalf("exit code %d, %v: %s%s", r.code, err, r.stdout, r.stderr)
	}
	c.holds(v, "pass", "storage-write", "storage-read", "storage-create")
	const gpu = "gpu-dy-p5e-2"
	scratch := filepath.Join(c.path("nodes", gpu, "scratch0"), ".muster-verify-*")
	cmd := c.command("exec", "--node", gpu, "--", "sh", "-c", "echo $$ >/tmp/alone.pid; exec muster verify --alone storage")
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.await("it writes", patience, func() bool { found, _ := filepath.Glob(scratch); return len(found) > 0 })
	if r := c.node(gpu, "kill -9 $(cat /tmp/alone.pid)"); r.code != 0 {
		c.t.Error(r.stderr)
	}
	if err := cmd.Wait(); err == nil {
		c.t.Error("it was not killed")
	} else if _, exit := err.(*exec.ExitError); !exit {
		c.t.Error(err)
	}
	c.await("nothing is left", patience, func() bool { found, _ := filepath.Glob(scratch); return len(found) == 0 })
}
