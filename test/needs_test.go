package test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// jobNeeds: what a script needs and no node has is said before it is submitted, and what they have is not; the job fails at
// the same lines.
func jobNeeds(t *testing.T, c *cluster) {
	c.head("sh", "-c", "echo true >/usr/local/bin/on-the-head && chmod +x /usr/local/bin/on-the-head")
	c.file("there.py", "")
	c.file("needs.sbatch", `#!/bin/bash
#SBATCH --time=5 --gpus-per-node=1
on-the-head || echo 1
srun --ntasks=1 /opt/nosuch/tool || echo 2
python3 there.py || echo 3
python3 nosuch.py || echo 4
srun --ntasks=1 --container-image=/home/nosuch.sqsh true || echo 5
command -v nosuch && nosuch
squeue --noheader --states=PENDING || echo 6
`)
	want := []string{
		"needs.sbatch:3:1: warning: on-the-head is on no node: it is in no directory of the job's PATH [script/program]",
		"needs.sbatch:4:17: warning: /opt/nosuch/tool is on no node [script/program]",
		"needs.sbatch:6:9: warning: there is no nosuch.py on the nodes [script/file-missing]",
		"needs.sbatch:7:17: warning: there is no image /home/nosuch.sqsh [script/image-missing]",
	}
	r := c.run("run", "needs.sbatch")
	if diff := cmp.Diff(want, aboutNeeds(r.stderr)); diff != "" {
		t.Errorf("run (-want +got):\n%s\n%s", diff, r.stderr)
	}
	var failed []string
	for line := range strings.Lines(r.stdout) {
		if line = strings.TrimSpace(line); len(line) == 1 {
			failed = append(failed, line)
		}
	}
	if got := strings.Join(failed, ""); got != "1245" {
		t.Errorf("what failed: %q\n%s", got, r.stdout)
	}
	// On the head node itself, where the program is, nobody knows better.
	if diff := cmp.Diff(want[1:], aboutNeeds(c.run("exec", "--", "muster", "run", "needs.sbatch").stderr)); diff != "" {
		t.Errorf("run on the head node (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, aboutNeeds(c.run("check", "needs.sbatch").stderr)); diff != "" {
		t.Errorf("check (-want +got):\n%s", diff)
	}
	if got := strings.Join(aboutNeeds(c.types("printf '#!/bin/bash\n#SBATCH --time=1 --gpus-per-node=1\n/opt/nosuch/tool' | muster run -").stderr), ""); got != "stdin:3:1: warning: /opt/nosuch/tool is on no node [script/program]" {
		t.Errorf("run -: %q", got)
	}
	c.file("never.sbatch", "#!/usr/bin/nosuch\n#SBATCH --time=5 --gpus-per-node=1\n")
	r = c.run("run", "never.sbatch")
	if r.code != 1 || !strings.Contains(r.stderr, "never.sbatch:1:1: error: /usr/bin/nosuch is on no node, and without it the job cannot start") ||
		!strings.Contains(r.stderr, "nothing is submitted; with --force") {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
}

// aboutNeeds are the lines about what is on no node.
func aboutNeeds(stderr string) (lines []string) {
	for line := range strings.Lines(stderr) {
		for _, code := range []string{"[script/program]", "[script/image-missing]", "[script/file-missing]"} {
			if line = strings.TrimSpace(line); strings.HasSuffix(line, code) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}
