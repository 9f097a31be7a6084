package test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// jobLeavesItsNodes: while Slurm takes a job from its nodes, it is said whether the job is
// done or will run again, and how much it asks for. It asks before it takes down a cluster with the latter.
func jobLeavesItsNodes(t *testing.T, c *cluster) {
	c.file("stays.sbatch", `#!/bin/bash
#SBATCH --nodes=2
trap '' TERM
echo ready
until [ -e "$1" ]; do sleep 0.1; done
`)
	for name, row := range map[string]struct {
		with []string
		says string
	}{
		"again": {[]string{"scontrol", "requeue"}, "will be queued again; Slurm cleans up"},
		"done":  {[]string{"scancel"}, "is done; Slurm cleans up"},
	} {
		t.Run(name, func(t *testing.T) {
			c := c.as(t)
			id := strings.TrimSpace(c.must("job", "submit", "stays.sbatch", "--", "let-"+name))
			t.Cleanup(func() { c.file("let-"+name, ""); c.must("job", "cancel", id) })
			c.await("it runs", time.Minute, func() bool { return c.run("job", "logs", id).stdout == "ready\n" })
			c.head(append(row.with, id)...)
			c.await("it leaves", 10*time.Second, func() bool { return c.show(id).State == "COMPLETING" })
			if got := c.must("job", "show", id); !strings.Contains(got, row.says) || !strings.Contains(got, "2 nodes of gpu, 2 CPUs") || strings.Contains(got, "\n2 ") {
				t.Errorf("job show:\n%s", got)
			}
			if name == "done" {
				return // nothing would keep `down` from taking the cluster down
			}
			if down := c.run("down"); down.code != 2 || !strings.Contains(down.stderr, id) {
				t.Errorf("down: exit code %d\n%s", down.code, down.stderr)
			}
		})
	}
}

// jobTellsItsNodes: Slurm leaves nodes out of its lists while it releases them.
func jobTellsItsNodes(t *testing.T, c *cluster) {
	c.file("two.sbatch", "#!/bin/bash\n#SBATCH --nodes=2\nsrun true\n")
	for range 5 {
		var j shownJob
		if err := json.Unmarshal([]byte(c.must("run", "-o", "json", "two.sbatch")), &j); err != nil || len(j.Nodes) != 2 {
			t.Errorf("run -o json: %+v, %v", j, err)
		}
	}
}
