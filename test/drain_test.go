package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// faulty is a job whose first run prints what no GPU of its node has said, and fails.
const faulty = `#!/bin/bash
#SBATCH --nodes=1 --exclusive --time=10 --open-mode=append
#MUSTER --restarts=1
if [ -n "${SLURM_RESTART_COUNT:-}" ]; then exit 0; fi
echo "NVRM: Xid (PCI:0000:38:00): 79, pid=12, GPU has fallen off the bus."
exit 1
`

// keptDrainsOnEvidence: what a user's program prints takes a node from others only if he may drain it himself, as Slurm has
// it, or if the job of another user says the same.
func keptDrainsOnEvidence(t *testing.T, c *cluster) {
	dir := c.path("shared", "fsx1", "evidence")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, step := range []error{os.Chmod(dir, 0o1777), os.WriteFile(filepath.Join(dir, "faulty.sbatch"), []byte(faulty), 0o644)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	first, node := c.faulty("daemon", "")
	if said := first.drainEvent(); !strings.HasSuffix(said, "; it stays in service, since nobody but the job says so; look at it, and if it is so: `scontrol update NodeName="+node+" State=DRAIN Reason=...`") {
		t.Errorf("events:\n%s", said)
	}
	if n := c.nodes()[node]; n.Reason != "" || strings.Contains(strings.ToLower(n.State), "drain") {
		t.Errorf("got %+v", n)
	}
	if second, _ := c.faulty("nobody", node); strings.Contains(second.drainEvent(), "stays in service") {
		t.Errorf("two users' jobs say so, and yet:\n%s", second.drainEvent())
	}

	c.head("sacctmgr", "--immediate", "add", "account", "watchers")
	c.head("sacctmgr", "--immediate", "add", "user", "bin", "account=watchers", "adminlevel=Operator")
	drains := []string{"setpriv", "--reuid=bin", "--regid=bin", "--clear-groups", "scontrol", "update", "NodeName=" + c.free(node), "State=DRAIN", "Reason=mine"}
	if r := c.run(append([]string{"exec", "--"}, drains...)...); r.code == 0 {
		t.Error("Slurm lets an operator drain nodes")
	}
	third, _ := c.faulty("bin", c.free(node))
	if said := third.drainEvent(); !strings.Contains(said, "it stays in service, since nobody but the job says so") {
		t.Errorf("of an operator's job:\n%s", said)
	}
	c.head("sacctmgr", "--immediate", "modify", "user", "bin", "set", "adminlevel=Administrator")
	fourth, _ := c.faulty("bin", "")
	if said := fourth.drainEvent(); said == "" || strings.Contains(said, "stays in service") {
		t.Errorf("of an administrator's job:\n%s", said)
	}
}

// faulty runs such a job as a user, on a node if one is named, until the keeper has said what becomes of the node; it returns that.
func (c *cluster) faulty(user, on string) (*kept, string) {
	c.t.Helper()
	group := map[string]string{"nobody": "nogroup"}[user]
	if group == "" {
		group = user
	}
	line := []string{"setpriv", "--reuid=" + user, "--regid=" + group, "--clear-groups", "sbatch", "--parsable", "--chdir=/", "--output=/fsx1/evidence/%j.out"}
	if on != "" {
		line = append(line, "--nodelist="+on)
	}
	k := &kept{cluster: c, id: strings.TrimSpace(c.head(append(line, "/fsx1/evidence/faulty.sbatch")...))}
	c.await("job "+k.id+" of "+user+" is judged and its node, too", 2*patience, func() bool { return k.drainEvent() != "" })
	j := k.look()
	if r := j.Kept.Rounds; len(r) > 0 && (r[0].Class != "gpu-lost" || r[0].AtFault == "") {
		c.t.Errorf("got %+v", r)
	}
	return k, faultOf(k.drainEvent())
}

// drainEvent is what the keeper said of a node that the job holds to be at fault.
func (k *kept) drainEvent() string {
	k.t.Helper()
	for line := range strings.Lines(k.events()) {
		if said, ok := strings.CutPrefix(line, "drain: "); ok {
			return strings.TrimSuffix(said, "\n")
		}
	}
	return ""
}

// faultOf is the node in "job 7: Xid 79 on NODE (GPU ...".
func faultOf(said string) string {
	_, rest, _ := strings.Cut(said, " on ")
	node, _, _ := strings.Cut(rest, " ")
	return node
}

// free is a node that is not the one.
func (c *cluster) free(other string) string {
	c.t.Helper()
	for i := 1; ; i++ {
		if name := fmt.Sprintf("gpu-dy-p5e-%d", i); name != other {
			return name
		}
	}
}

// kernelSays looks at the kernel of a node as its epilog does, when there is this in it. Each record is one read, as of the real one.
const kernelSays = `import fcntl, os, subprocess, sys
os.makedirs("/run/said", exist_ok=True)
os.mkfifo("/run/said/kmsg")
log = os.open("/run/said/kmsg", os.O_RDWR)
fcntl.fcntl(log, fcntl.F_SETFL, os.O_DIRECT)
if not os.path.exists("/dev/kmsg"):
    open("/dev/kmsg", "w").close()
subprocess.run(["mount", "--bind", "/run/said/kmsg", "/dev/kmsg"], check=True)
for record in sys.argv[2:]:
    os.write(log, record.encode() + b"\n")
code = subprocess.run(["/opt/muster/bin/muster", "agent", "kernel", sys.argv[1]], env={"SLURM_JOB_ID": "7"}).returncode
os.unlink("/run/said/kmsg")
sys.exit(code)
`

// fell is a record of a kernel whose GPU fell off the bus.
const fell = "3,12,6,-;NVRM: Xid (PCI:0000:38:00): 79, pid=4242, name=python, GPU has fallen off the bus."

// keptAsksKernels: a node whose own kernel says that its GPU failed drains itself, once, and the job that failed there is told why.
func keptAsksKernels(t *testing.T, c *cluster) {
	c.file("says.py", kernelSays)
	c.file("waits.sbatch", fmt.Sprintf(`#!/bin/bash
#SBATCH --nodes=1 --exclusive --time=10 --open-mode=append
#MUSTER --restarts=1
if [ -n "${SLURM_RESTART_COUNT:-}" ]; then exit 0; fi
until [ -e %s ]; do sleep 0.1; done
exit 1
`, filepath.Join(c.dir, "fail")))
	k := &kept{cluster: c, id: strings.TrimSpace(c.must("job", "submit", "waits.sbatch"))}
	c.await("the job runs", patience, func() bool { return c.show(k.id).State == "RUNNING" })
	node := c.show(k.id).Nodes[0]
	says := func(records ...string) result {
		line := fmt.Sprintf("unshare --mount python3 %s %s", filepath.Join(c.dir, "says.py"), node)
		for _, r := range records {
			line += " '" + r + "'"
		}
		return c.node(node, line)
	}
	harmless := []string{"6,10,4,-;usb 1-1: found", "11,11,5,-;" + strings.SplitN(fell, ";", 2)[1], "4,11,5,-;python[12]: segfault at 79 in fallen off the bus[0+1]"}
	if r := says(harmless...); r.code != 0 || c.nodes()[node].Reason != "" {
		t.Fatalf("%+v\n%+v", r, c.nodes()[node])
	}
	if r := says(append(harmless, fell)...); r.code != 0 {
		t.Fatal(r.stderr)
	}
	reason := c.head("sinfo", "--noheader", "--nodes="+node, "--format=%E %t")
	if want := "muster: kernel: " + strings.SplitN(fell, ";", 2)[1] + " drng\n"; reason != want {
		t.Errorf("got %q, want %q", reason, want)
	}
	c.head("scontrol", "update", "NodeName="+node, "State=UNDRAIN")
	if r := says(append(harmless, fell)...); r.code != 0 || strings.HasSuffix(c.head("sinfo", "--noheader", "--nodes="+node, "--format=%t"), "drng\n") {
		t.Errorf("what was dealt with counts again: %+v", r)
	}
	c.head("scontrol", "update", "NodeName="+node, "State=DRAIN", "Reason=mine")
	more := strings.Replace(fell, "3,12,", "3,13,", 1)
	if r := says(more); r.code != 0 || c.nodes()[node].Reason != "mine" {
		t.Errorf("%+v\n%+v", r, c.nodes()[node])
	}
	c.head("scontrol", "update", "NodeName="+node, "State=UNDRAIN")
	if r := says(); r.code != 0 || !strings.Contains(c.node(node, "cat /var/log/muster/health.log").stdout, " job 7: blind: the kernel's log has no records\n") {
		t.Errorf("%+v\n%s", r, c.node(node, "cat /var/log/muster/health.log").stdout)
	}
	if r := says(strings.Replace(fell, "3,12,", "3,14,", 1)); r.code != 0 {
		t.Fatal(r.stderr)
	}
	c.file("fail", "")
	c.await("the job's end is judged", 2*patience, func() bool { j := k.look(); return j.Kept != nil && len(j.Kept.Rounds) > 0 })
	if r := k.look().Kept.Rounds[0]; r.Class != "gpu-lost" || r.AtFault != node || !strings.Contains(strings.Join(r.Findings, " "), "kernel of "+node) {
		t.Errorf("got %+v", r)
	}
	c.await("muster events tells what the kernel said", patience, func() bool {
		return strings.Contains(c.must("events"), "kernel: NVRM: Xid (PCI:0000:38:00): 79")
	})
}
