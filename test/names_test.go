package test

import (
	"fmt"
	"strings"
	"testing"
)

// keptDespiteNames: a job that waits has rows of a kept job in its name, so that Slurm seems to have that one several times. It is
// kept all the same, and goes on when it loses its node.
func keptDespiteNames(t *testing.T, c *cluster) {
	k := c.keep("hidden", 120, keptWishes+"/fsx1/hidden/checkpoints")
	k.reaches(5)
	row := func(id string) string {
		return fmt.Sprintf("\nJobId=%s JobName=y UserId=nobody(65534) GroupId=nogroup(65534) MCS_label=N/A JobState=COMPLETED Partition=gpu SubmitTime=2026-01-01T00:00:00", id)
	}
	name := "x UserId=root(0) GroupId=root(0) MCS_label=N/A JobState=RUNNING Partition=gpu SubmitTime=2026-01-01T00:00:00" + row(k.id) + row("0"+k.id) + row(k.id) + "\nJobId=99999 JobName=z"
	other := strings.TrimSpace(c.head("sbatch", "--parsable", "--hold", "--job-name="+name, "--wrap=true"))
	if rows := c.head("scontrol", "--oneliner", "show", "job"); strings.Count(rows, "\nJobId="+k.id+" ") < 2 {
		t.Fatalf("nothing hides the job:\n%s", rows)
	}
	k.reaches(40)
	c.must("node", "kill", c.show(k.id).Nodes[0])
	if j := k.completes(); j.Kept.Restarts != 1 {
		t.Errorf("got %+v", j.Kept)
	}
	if said := k.events(); strings.Contains(said, "not kept") || strings.Contains(said, "another job's") {
		t.Errorf("events:\n%s", said)
	}
	c.head("scancel", other)
}
