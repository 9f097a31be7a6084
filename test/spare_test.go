package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-hpc/muster/test/soak"
)

// TestSoak_spare_of_a_training trains on two of three nodes, once undisturbed, and once with the death of one of
// the two: the ranks start again on the spare, in the same run of the job, and both runs end
// with the same weights.
func TestSoak_spare_of_a_training(t *testing.T) {
	soak.Only(t, "trains with PyTorch; TestSpare_and_no_more lets programs start again on a spare")
	t.Parallel()
	launcher := torchLauncher(t)
	c := newCluster(t, fileOf(6))
	if err := os.CopyFS(filepath.Join(c.dir, "code"), os.DirFS("../examples/train")); err != nil {
		t.Fatal(err)
	}
	c.head("/usr/bin/python3", "code/prepare.py", "--data-dir", "data")
	for _, name := range []string{"still", "hurt"} {
		c.file(name+".yaml", fmt.Sprintf(trainedJob, name, launcher, filepath.Join(c.dir, "data"), filepath.Join(c.dir, name)))
		c.must("job", "submit", name+".yaml")
	}
	hurt := sparedJob{c, "hurt"}
	hurt.prints("Batch 25 Loss")
	victim := hurt.rankNode("1.1")
	c.must("node", "kill", victim)
	for _, name := range []string{"still", "hurt"} {
		sparedJob{c, name}.prints("exit code 0")
	}
	if again := hurt.nodes("1.2"); strings.Contains(again, victim) {
		t.Errorf("the ranks start again on %s, with %s, which is dead", again, victim)
	}
	hurt.restarted(0)
	want, got := weights(sparedJob{c, "still"}.log()), weights(hurt.log())
	if want == "" || got != want {
		t.Errorf("weights %s, want %s", got, want)
	}
}

// TestSpare_and_no_more has the fleet replace a dead node while the job goes on with its spare. It kills more nodes than there are spares, and then the node of the batch
// script, which Slurm alone would not mind: each time the job runs again, and it ends well.
func TestSpare_and_no_more(t *testing.T) {
	t.Parallel()
	c := newCluster(t, fileOf(5))
	c.file("hold.sh", "#!/bin/bash\necho \"here $SLURM_PROCID\"\nuntil [ -e "+filepath.Join(c.dir, "go")+" ]; do sleep 0.1; done\n")
	c.head("chmod", "755", "hold.sh")
	c.file("hold.yaml", "Job: hold\nNodes: 2\nSpares: 1\nRanks: 1\nLauncher: srun\nScript: hold.sh\nTime: 30\n")
	c.must("job", "submit", "hold.yaml")
	j := sparedJob{c, "hold"}
	j.begins("1.1")
	victim := j.rankNode("1.1")
	before := c.nodes()[victim].PID
	c.must("node", "kill", victim)
	j.begins("1.2")
	// Meanwhile the fleet replaces the dead node, and another job has it.
	if on := strings.TrimSpace(c.head("srun", "--nodelist="+victim, "--nodes=1", "--time=5", "printenv", "SLURMD_NODENAME")); on != victim || c.nodes()[victim].PID == before {
		t.Errorf("node %s is not replaced: %q, %+v, process %d before", victim, on, c.nodes()[victim], before)
	}
	j.restarted(0)
	c.must("node", "kill", j.rankNode("1.2"))
	j.begins("2.1")
	j.restarted(1)
	c.must("node", "kill", strings.TrimSpace(c.head("squeue", "--noheader", "--Format=BatchHost:100")))
	j.begins("3.1")
	j.restarted(2)
	c.file("go", "")
	j.prints("exit code 0")
}

// TestSpare_in_a_tree: on so many nodes slurmstepd waits a minute for the one that is dead, and the step keeps what it had. The ranks start again
// beside it, on the spare.
func TestSpare_in_a_tree(t *testing.T) {
	t.Parallel()
	c := newCluster(t, fileOf(8))
	c.file("hold.sh", "#!/bin/bash\necho \"here $SLURM_PROCID\"\nuntil [ -e "+filepath.Join(c.dir, "go")+" ]; do sleep 0.1; done\n")
	c.head("chmod", "755", "hold.sh")
	c.file("hold.yaml", "Job: hold\nNodes: 7\nSpares: 1\nRanks: 1\nLauncher: srun\nScript: hold.sh\nTime: 30\n")
	c.must("job", "submit", "hold.yaml")
	j := sparedJob{c, "hold"}
	j.begins("1.1")
	c.must("node", "kill", j.rankNode("1.1"))
	j.begins("1.2")
	if said := j.log(); strings.Contains(said, "step creation temporarily disabled") {
		t.Errorf("the ranks wait for the step that lost a node:\n%s", said)
	}
	c.file("go", "")
	j.prints("exit code 0")
	j.restarted(0)
}

// TestSpare_unfit: a node that shows too few GPUs is swapped for a spare before the ranks start, and one that is drained is
// not chosen: with no other left, the job goes back into the queue.
func TestSpare_unfit(t *testing.T) {
	t.Parallel()
	c := newCluster(t, fileOf(5))
	c.head("mkdir", "bin")
	c.file("bin/nvidia-smi", fmt.Sprintf(`#!/bin/bash
# The first node of the ranks that is asked has lost five GPUs, and stays so.
set -o noclobber
cd %[1]s
echo "$SLURMD_NODENAME" 2>/dev/null >unfit || true
all=8
if [[ $(cat unfit) == "$SLURMD_NODENAME" ]]; then all=3; fi
for ((i = 0; i < all; i++)); do echo "GPU $i: NVIDIA H200 (UUID: GPU-$i)"; done
`, c.dir))
	c.file("hold.sh", "#!/bin/bash\necho \"here $SLURMD_NODENAME\"\nuntil [ -e "+filepath.Join(c.dir, "go")+" ]; do sleep 0.1; done\n")
	c.head("chmod", "755", "hold.sh", "bin/nvidia-smi")
	c.file("hold.yaml", "Job: hold\nNodes: 1\nSpares: 2\nRanks: 1\nLauncher: srun\nScript: hold.sh\nTime: 30\nEnvironment: {PATH: '"+filepath.Join(c.dir, "bin")+":/usr/bin:/bin'}\n")
	c.must("job", "submit", "hold.yaml")
	j := sparedJob{c, "hold"}
	j.prints(", attempt 1.2, on ")
	unfit, second := strings.TrimSpace(c.read("unfit")), j.nodes("1.2")
	j.prints("here " + second)
	if first := j.nodes("1.1"); first != unfit || second == unfit || !strings.Contains(j.log(), unfit+" shows 3 of 8 GPUs\n") {
		t.Errorf("the ranks start on %s and then on %s; %s is unfit:\n%s", first, second, unfit, j.log())
	}
	j.restarted(0)
	spare := strings.TrimSpace(c.head("squeue", "--noheader", "--name=hold", "--Format=BatchHost:100"))
	if spare == second || spare == unfit {
		t.Fatalf("the script runs on %s, the ranks on %s, and %s is unfit", spare, second, unfit)
	}
	c.head("scontrol", "update", "NodeName="+spare, "State=DRAIN", "Reason=look")
	c.must("node", "kill", second)
	j.prints(", attempt 2.1, on ")
	if log := j.log(); strings.Contains(log, ", attempt 1.3, on ") || !strings.Contains(log, "0 of the 1 that it needs are healthy") {
		t.Errorf("with %s drained:\n%s", spare, log)
	}
	j.restarted(1)
	c.file("go", "")
	j.prints("exit code 0")
}

const trainedJob = `Job: %[1]s
Nodes: 2
Spares: 1
Ranks: 1
Launcher: %[2]s
Script: code/train.py
Python: /usr/bin/python3
Arguments: [--data-dir, %[3]s, --checkpoint-dir, %[4]s/checkpoints, --log-dir, %[4]s/logs, --output-dir, %[4]s/outputs,
  --model-name, m, --batch-size, 4, --steps, 50, --checkpoint-freq, 10, --seed, 1]
Checkpoints: %[4]s/checkpoints
Environment: {USE_LIBUV: 0}
Time: 60
`

// sparedJob is a job with spares, by its name.
type sparedJob struct {
	c    *cluster
	name string
}

// log is what the job printed.
func (j sparedJob) log() string {
	j.c.t.Helper()
	files, err := filepath.Glob(filepath.Join(j.c.dir, "logs", j.name+"-*.out"))
	if err != nil || len(files) == 0 {
		return ""
	}
	name, err := filepath.Rel(j.c.dir, files[0])
	if err != nil {
		j.c.t.Fatal(err)
	}
	return j.c.read(name)
}

// prints waits until the job prints a text.
func (j sparedJob) prints(text string) {
	j.c.t.Helper()
	j.c.await(j.name+" prints "+text, 5*time.Minute, func() bool { return strings.Contains(j.log(), text) })
}

// begins waits until both ranks of an attempt run.
func (j sparedJob) begins(attempt string) {
	j.c.t.Helper()
	j.c.await("attempt "+attempt, 2*time.Minute, func() bool {
		_, since, found := strings.Cut(j.log(), ", attempt "+attempt+", on ")
		return found && strings.Contains(since, "here 0") && strings.Contains(since, "here 1")
	})
}

// nodes are those of an attempt's ranks.
func (j sparedJob) nodes(attempt string) string {
	j.c.t.Helper()
	_, rest, _ := strings.Cut(j.log(), ", attempt "+attempt+", on ")
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// rankNode is a node with ranks that does not run the batch script.
func (j sparedJob) rankNode(attempt string) string {
	j.c.t.Helper()
	nodes := strings.Split(j.nodes(attempt), ",")
	return nodes[len(nodes)-1]
}

// restarted holds how often Slurm queued the job again.
func (j sparedJob) restarted(times int) {
	j.c.t.Helper()
	if shown := j.c.head("sh", "-c", "scontrol show job $(squeue --noheader --states=all --name="+j.name+" --format=%i)"); !strings.Contains(shown, fmt.Sprintf("Restarts=%d ", times)) {
		j.c.t.Errorf("job %s, want %d restarts:\n%s", j.name, times, shown)
	}
}

// weights are the checksum of a log's trained weights.
func weights(log string) string {
	return regexp.MustCompile(`Final weights sha256: (\w+)`).FindString(log)
}

// torchVersion imports Debian's PyTorch, which takes seconds, once.
var torchVersion = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("/usr/bin/python3", "-c", "import torch; print(torch.__version__)").CombinedOutput()
})

// torchLauncher is the launcher with which Debian's PyTorch works: that of Debian 13 has no
// store for torchrun.
func torchLauncher(t *testing.T) string {
	t.Helper()
	need(t)
	out, err := torchVersion()
	switch {
	case err != nil && os.Getenv("MUSTER_CI") != "":
		t.Fatalf("this machine lacks Debian's python3-torch: %v: %s", err, out)
	case err != nil:
		t.Skip("this machine lacks Debian's python3-torch")
	case strings.Contains(string(out), "+debian"):
		return "srun"
	}
	return "torchrun"
}
