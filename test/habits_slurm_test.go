package test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// slurmAsInProduction: what people type at a ParallelCluster's Slurm answers here, too.
func slurmAsInProduction(t *testing.T, c *cluster) {
	const node = "gpu-dy-p5e-1"
	if got := c.head("sh", "-c", "scontrol show config | awk '/^PriorityType|^AccountingStorageEnforce/ { print $3 }'; sprio --weights --noheader | wc --lines"); got != "none\npriority/multifactor\n1\n" {
		t.Errorf("priorities: %q", got)
	}
	c.head("srun", "--nodelist="+node, "--tmp=10G", "true")
	if r := c.run("exec", "--", "srun", "--nodelist="+node, "--tmp=100T", "true"); r.code == 0 {
		t.Error("a node has 100 TB")
	}
	c.head("srun", "--mpi=pmix", "--nodelist="+node, "true")
	rebootsNode(t, c, node)
	tellsEfficiency(t, c)
}

// rebootsNode: what ran on it is gone, and Slurm takes it up again.
func rebootsNode(t *testing.T, c *cluster, node string) {
	mark := "muster-before-the-reboot"
	c.head("srun", "--nodelist="+node, "sh", "-c", "(setsid sh -c 'exec -a "+mark+" sleep 1000' >/dev/null 2>&1 &)")
	booted := func() string { return c.head("sh", "-c", "scontrol show node "+node+" | grep -o 'BootTime=[^ ]*'") }
	state := func() string { return strings.TrimSpace(c.head("sinfo", "-hN", "-o", "%T", "-n", node)) }
	takesJobs := func() bool { return slices.Contains([]string{"idle", "mixed", "allocated"}, state()) } // another test's job may be there
	before := booted()
	c.head("scontrol", "reboot", "ASAP", "nextstate=RESUME", "reason=test", node)
	c.await("the node booted anew", patience, func() bool { return booted() != before })
	asked := time.Now()
	c.await("the events have a reboot", patience, func() bool {
		if strings.Contains(c.run("events", "-o", "json").stdout, `"reboot"`) {
			return true
		}
		// Of a node that had only just booted, the controller tells no reboot: it is asked for another when that is over.
		if time.Since(asked) > 5*time.Second && takesJobs() {
			asked = time.Now()
			c.run("exec", "--", "scontrol", "reboot", "ASAP", "nextstate=RESUME", "reason=test", node)
		}
		return false
	})
	for end := time.Now().Add(patience); !takesJobs(); {
		if time.Now().After(end) {
			t.Fatalf("the node takes no jobs: %s", c.head("scontrol", "show", "node", node))
		}
		c.head("sleep", "1")
	}
	if got := c.head("srun", "--nodelist="+node, "sh", "-c", "hostname; ls /run/rebooting 2>/dev/null; true"); got != node+"\n" {
		t.Errorf("after the reboot: %q", got)
	}
	for _, p := range c.processes() {
		if strings.Contains(p.name, mark) {
			t.Errorf("process %d survived the reboot", p.pid)
		}
	}
}

// tellsEfficiency as Slurm's own seff, which Debian does not have.
func tellsEfficiency(t *testing.T, c *cluster) {
	c.file("seff.sbatch", "#!/bin/bash\n#SBATCH --cpus-per-task=2\nsrun sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'\nexit 3\n")
	id := jobOf(t, c.run("run", "seff.sbatch").stderr)
	var got string
	c.await("the accounting has the job", patience, func() bool {
		got = c.head("seff", id)
		return strings.Contains(got, "FAILED")
	})
	for _, line := range []string{"Job ID: " + id + "\n", "\nCluster: whole\n", "\nState: FAILED (exit code 3)\n", "\nNodes: 1\nCores per node: 2\n", "\nCPU Utilized: ", "% of ", " core-walltime\nJob Wall-clock time: ", "\nMemory Utilized: ", "\nMemory Efficiency: "} {
		if !strings.Contains("\n"+got, line) && !strings.HasPrefix(got, line) {
			t.Errorf("%q is not in\n%s", line, got)
		}
	}
	// The accounting learns late whose job it was that ended at once.
	const atOnce = `u=$(id -un)/$(id -gn); for i in 1 2 3 4; do id=$(sbatch --parsable --wrap true); until seff "$id" 2>/dev/null | grep COMPLETED >/dev/null; do :; done; seff "$id" | grep -F "User/Group: $u" || seff "$id"; done`
	if got := c.head("sh", "-c", atOnce); strings.Count(got, "\n") != 4 {
		t.Errorf("of jobs that have just ended:\n%s", got)
	}
	if r := c.run("exec", "--", "seff", "99999999"); r.code == 0 || !strings.Contains(r.stderr, "no job 99999999") {
		t.Errorf("of a job that is not there: %d %s", r.code, r.stderr)
	}
}
