package test

import (
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/examples/train"
)

// TestJobFiles runs what job files become.
func TestJobFiles(t *testing.T) {
	t.Parallel()
	c := unmade(t, fileOf(2)+dataFile)
	c.file("muster.yaml", "Models: [{Name: half1, GPUs: 2}, {Name: half2, GPUs: 2}]\n")
	c.must("up", "--no-test", "cluster.yaml")
	c.each(map[string]func(*testing.T, *cluster){
		"trains_as_the_batch_script_does": jobFileTrains,
		"models_share_a_node":             modelsShareNode,
		"signal_reaches_the_ranks":        signalReachesRanks,
		"mistakes_are_said_of_its_lines":  jobFileMistakes,
		"ranks_are_told_apart":            ranksApart,
		"what_does_not_fit_is_said_first": jobFileMisfits,
	})
}

// finalWeights are the checksums of the weights in a training's log.
var finalWeights = regexp.MustCompile(`(?m)^(?:\d+: )?Final weights sha256: ([0-9a-f]{64})$`)

func (c *cluster) trained(args ...string) string {
	c.t.Helper()
	out := c.must(args...)
	found := finalWeights.FindAllStringSubmatch(out, -1)
	if len(found) != 1 {
		c.t.Fatalf("%d checksums in\n%s", len(found), out)
	}
	return found[0][1]
}

// jobFileTrains holds that the program of train.sbatch ends with the same weights, started by
// torchrun or by Slurm alone.
func jobFileTrains(t *testing.T, c *cluster) {
	files, err := fs.ReadDir(train.Files, ".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := fs.ReadFile(train.Files, f.Name())
		if err != nil {
			t.Fatal(err)
		}
		c.file(f.Name(), string(text))
	}
	want := c.trained("run", "--force", "--sbatch=--partition=gpu", "--sbatch=--output=train-%j.out", "--sbatch=--error=train-%j.out",
		"--sbatch=--export=ALL,STEPS=4,CHECKPOINT_FREQ=2,DATA_DIR=/fsx1/text,CHECKPOINT_DIR=/fsx1/plain/checkpoints,OUTPUT_DIR=/fsx1/plain,LOG_DIR=/fsx1/plain",
		"train.sbatch")
	for _, launcher := range slices.Compact([]string{torchLauncher(t), "srun"}) {
		dir := "/fsx1/" + launcher
		c.file(launcher+".yaml", strings.ReplaceAll(`Job: NAME
Nodes: 2
Ranks: 1
Launcher: NAME
Python: /usr/bin/python3
Script: train.py
Arguments: [--data-dir, /fsx1/text, --checkpoint-dir, /fsx1/NAME/checkpoints, --output-dir, /fsx1/NAME, --log-dir, /fsx1/NAME, --steps, 4, --checkpoint-freq, 2]
Data: [/fsx1/text]
Checkpoints: /fsx1/NAME/checkpoints
Logs: /fsx1/NAME/logs
Time: 30
Environment: {USE_LIBUV: "0"}   # Debian 13's PyTorch is built without it
`, "NAME", launcher))
		if got := c.trained("run", launcher+".yaml"); got != want {
			t.Errorf("%s: weights %s, want those of train.sbatch, %s", launcher, got, want)
		}
		kept := c.head("sh", "-c", "cat "+dir+"/logs/"+launcher+".*.sbatch")
		if !strings.Contains(kept, "#SBATCH --job-name="+launcher+"\n") {
			t.Errorf("beside the log is\n%s", kept)
		}
	}
}

// speaking is a program whose ranks write to both streams, and in its first run wait to be queued again.
const speaking = `import os, pathlib, sys, time
rank, run = os.environ["RANK"], os.environ.get("SLURM_RESTART_COUNT", "0")
print("out", rank, "of run", run, flush=True)
sys.stderr.write("err " + rank + " of run " + run + "\n")
sys.stderr.flush()
go = pathlib.Path(sys.argv[1])
while not go.exists():
    time.sleep(0.05)
`

// ranksApart holds that what each rank wrote can be had alone, of both streams and all runs, while the job runs and after it;
// and that of a script whose lines nobody can tell apart this is said.
func ranksApart(t *testing.T, c *cluster) {
	for _, launcher := range slices.Compact([]string{torchLauncher(t), "srun"}) {
		name := "speak-" + launcher
		c.file(name+".py", speaking)
		c.file(name+".yaml", strings.ReplaceAll(`Job: NAME
Nodes: 2
Ranks: 2
Launcher: `+launcher+`
Python: /usr/bin/python3
Script: NAME.py
Arguments: [/fsx1/NAME.go]
Logs: /fsx1/NAME
Time: 30
Environment: {USE_LIBUV: "0"}
`, "NAME", name))
		id := strings.TrimSpace(c.must("job", "submit", name+".yaml"))
		t.Cleanup(func() { c.run("job", "cancel", id) })
		streams := []string{"out", "err"}
		if launcher != "srun" {
			streams = streams[1:] // torchrun keeps apart no more
		}
		ranks := []string{"0", "1", "2", "3"}
		said := func(run string) bool { // by every rank: one that is slower would be stopped before it has written
			r := c.run("job", "logs", "--rank", "all", id)
			return r.code == 0 && !slices.ContainsFunc(ranks, func(rank string) bool {
				return slices.ContainsFunc(streams, func(s string) bool { return !strings.Contains(r.stdout, s+" "+rank+" of run "+run+"\n") })
			})
		}
		c.await("every rank has written", 2*patience, func() bool { return said("0") })
		c.head("scontrol", "requeue", id)
		c.await("every rank has written again", 2*patience, func() bool { return said("1") })
		c.head("touch", "/fsx1/"+name+".go")
		r := c.run("job", "logs", "-f", "--rank", "all", id)
		for _, rank := range ranks {
			for _, stream := range streams {
				for _, run := range []string{"0", "1"} {
					if line := stream + " " + rank + " of run " + run; strings.Count(r.stdout, rank+": "+line+"\n") != 1 {
						t.Errorf("%s: not once in all: %s", launcher, line)
					}
				}
			}
		}
		alone := c.must("job", "logs", "--rank", "2", id)
		if r.code != 0 || strings.Contains(alone, "out 1") || strings.Contains(alone, "err 3") || strings.Count(alone, " 2 of run ") != 2*len(streams) {
			t.Errorf("%s: exit code %d\n%s%s\nrank 2:\n%s", launcher, r.code, r.stdout, r.stderr, alone)
		}
		if r := c.run("job", "logs", "--rank", "4", id); r.code != 1 || !strings.Contains(r.stderr, "rank 4") {
			t.Errorf("%s: rank 4: exit code %d\n%s", launcher, r.code, r.stderr)
		}
	}
	scriptsApart(t, c)
}

// scriptsApart is the same of batch scripts of users' own.
func scriptsApart(t *testing.T, c *cluster) {
	c.file("plain.sh", "#!/bin/bash\nsrun hostname\n")
	id := strings.TrimSpace(c.must("job", "submit", "--sbatch=--nodes=2", "--sbatch=--time=5", "plain.sh"))
	c.await("the job ends", patience, func() bool { return c.show(id).Ended })
	if r := c.run("job", "logs", "--rank", "all", id); r.code != 1 || !strings.Contains(r.stderr, "cannot be told apart: its batch script has no `srun --label`") {
		t.Errorf("exit code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	c.file("label.sh", "#!/bin/bash\nsrun --label sh -c 'echo $SLURM_ARRAY_TASK_ID-$SLURM_PROCID'\n")
	array := strings.TrimSpace(c.must("job", "submit", "--sbatch=--nodes=2", "--sbatch=--array=1-2", "--sbatch=--time=5", "label.sh"))
	c.await("both tasks end", 2*patience, func() bool {
		return c.run("job", "logs", "-f", array+"_1").code == 0 && c.run("job", "logs", "-f", array+"_2").code == 0
	})
	if got := c.must("job", "logs", "--rank", "1", array+"_2"); got != "2-1\n" {
		t.Errorf("rank 1 of task 2 wrote %q", got)
	}
}

// meeting is a program that holds its job's port until two jobs of one node do.
const meeting = `import os, pathlib, socket, sys, time
here = pathlib.Path("/fsx1/meeting")
here.mkdir(exist_ok=True)
if os.environ["RANK"] == "0":
    server = socket.create_server(("", int(os.environ["MASTER_PORT"])))
    ras = socket.create_server(("localhost", int(os.environ["NCCL_RAS_ADDR"].rpartition(":")[2])))
    (here / sys.argv[1]).write_text(os.environ["MASTER_PORT"] + " " + os.environ["SLURMD_NODENAME"] + " " + os.environ["OMP_NUM_THREADS"])
while len(list(here.iterdir())) < 2:
    time.sleep(0.05)
`

// modelsShareNode holds that jobs of two models run on parts of one node at once.
func modelsShareNode(t *testing.T, c *cluster) {
	c.file("meeting.py", meeting)
	c.file("models.yaml", `Job: meet
Launcher: srun
Python: /usr/bin/python3
Script: meeting.py
Arguments: ["{model}"]
Logs: /fsx1/{model}/logs
Time: 30
`)
	var answer struct {
		Jobs []struct {
			ID                 int
			Job, Model, Script string
		} `json:"jobs"`
	}
	if err := json.Unmarshal([]byte(c.must("job", "submit", "-o", "json", "--all", "models.yaml")), &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Jobs) != 2 || answer.Jobs[1].Job != "meet-half2" || answer.Jobs[1].Model != "half2" || path.Dir(answer.Jobs[1].Script) != "/fsx1/half2/logs" {
		t.Fatalf("submitted %+v", answer.Jobs)
	}
	for _, j := range answer.Jobs {
		if r := c.run("job", "logs", "-f", strconv.Itoa(j.ID)); r.code != 0 {
			t.Errorf("job %s: exit code %d\n%s%s", j.Job, r.code, r.stdout, r.stderr)
		}
		if shown := c.show(strconv.Itoa(j.ID)); shown.State != "COMPLETED" {
			t.Errorf("job %s is %s", j.Job, shown.State)
		}
	}
	one, two := strings.Fields(c.head("cat", "/fsx1/meeting/half1")), strings.Fields(c.head("cat", "/fsx1/meeting/half2"))
	if len(one) != 3 || len(two) != 3 || one[0] == two[0] || one[1] != two[1] || one[2] != "24" {
		t.Errorf("port, node and threads: %s and %s", one, two)
	}
}

// saving is a program that saves when it is told to end.
const saving = `import os, signal, sys, time
def save(*_):
    sys.exit(f"rank {os.environ['RANK']} has saved")
signal.signal(signal.SIGUSR1, save)
sys.stdout.write("ready\n")
sys.stdout.flush()
while True:
    time.sleep(0.05)
`

// signalReachesRanks holds that the signal before a job's end comes to the ranks of all nodes.
func signalReachesRanks(t *testing.T, c *cluster) {
	c.file("saving.py", saving)
	c.file("saving.yaml", "Job: saving\nNodes: 2\nRanks: 2\nLauncher: srun\nPython: /usr/bin/python3\nScript: saving.py\nTime: 60\nOnFailure: stop\n")
	id := strings.TrimSpace(c.must("job", "submit", "saving.yaml"))
	t.Cleanup(func() { c.run("job", "cancel", id) })
	log := "logs/saving-" + id + ".out"
	c.await("four ranks are ready", patience, func() bool { return strings.Count(c.read(log), "ready\n") == 4 })
	c.head("scancel", "--batch", "--signal=USR1", id)
	c.await("the job ends", patience, func() bool { return c.show(id).Ended })
	text := c.read(log)
	for _, rank := range []string{"0", "1", "2", "3"} {
		if !strings.Contains(text, "rank "+rank+" has saved\n") {
			t.Errorf("rank %s was not told:\n%s", rank, text)
		}
	}
	if j := c.show(id); j.State != "FAILED" || j.ExitCode != 1 {
		t.Errorf("the job is %s with exit code %d", j.State, j.ExitCode)
	}
}

// jobFileMistakes holds that what is wrong with the script is said of the job file.
func jobFileMistakes(t *testing.T, c *cluster) {
	c.file("bad.yaml", "Job: bad\nNodes: 200\nScript: a.py\nTime: 10\nEnvironment: {NCCL_TREE_THRESHOLD: 0}\n")
	r := c.run("job", "submit", "bad.yaml")
	if r.code != 1 || !strings.Contains(r.stderr, "bad.yaml:2:8: error: --nodes=200, but partition gpu has 2 nodes [script/nodes]") {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
	c.file("bad.yaml", "Job: bad\nNodes: 1\nScrip: a.py\nTime: 10\n")
	if r := c.run("run", "bad.yaml"); r.code != 1 || !strings.Contains(r.stderr, "hint: did you mean Script?") {
		t.Errorf("exit code %d\n%s", r.code, r.stderr)
	}
}

// jobFileMisfits holds that what a job asks for beyond the cluster is said of its line before sbatch is asked; and that what
// sbatch itself says, of a job that is submitted all the same, comes with what to do about it.
func jobFileMisfits(t *testing.T, c *cluster) {
	c.head("scontrol", "update", "PartitionName=gpu", "MaxTime=1:00:00", "MaxNodes=1")
	t.Cleanup(func() {
		c.head("scontrol", "update", "PartitionName=gpu", "MaxTime=UNLIMITED", "MaxNodes=UNLIMITED", "MinNodes=0")
	})
	says := func(file, want string) {
		t.Helper()
		c.file("misfit.yaml", "Job: misfit\nScript: a.py\n"+file)
		if r := c.run("job", "submit", "misfit.yaml"); r.code != 1 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: exit code %d\n%swant %s", file, r.code, r.stderr, want)
		}
	}
	says("Nodes: 1\nTime: 2:00:00\n", "misfit.yaml:4:7: error: --time=2:00:00 is more than partition gpu allows a job: 60 minutes [script/time-limit]")
	says("Nodes: 2\nTime: 5\n", "misfit.yaml:3:8: error: --nodes=2, but partition gpu allows a job 1 node [script/nodes]")
	says("Nodes: 1\nTime: 5\nConstraint: h100\n", `misfit.yaml:5:13: error: no node of the cluster has the feature "h100"`)
	says("GPUs: 9\nTime: 5\n", "misfit.yaml:3:7: error: GPUs is 9, and a node of queue gpu has 8 [job/share]")
	says("Nodes: 1\nTime: 5\nQueue: gpus\n", "misfit.yaml:5:8: error: there is no queue \"gpus\" [job/queue]")
	c.file("a.sh", "#!/bin/bash\n")
	for option, want := range map[string]string{
		"--partition=nosuch": "nvalid partition name specified; `muster ",
		"--constraint=h100":  "Invalid feature specification; `muster ",
		"--gres=tape:1":      "Invalid generic resource (gres) specification; `muster ",
		"--nodelist=nosuch":  "Invalid node name specified; `muster ",
		"--mem=99999999":     "sinfo --format='%P %m'` shows the memory",
	} {
		if r := c.run("job", "submit", "--force", "--sbatch=--time=5", "--sbatch="+option, "a.sh"); r.code != 1 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: exit code %d\n%swant %s", option, r.code, r.stderr, want)
		}
	}
	c.head("scontrol", "update", "PartitionName=gpu", "MaxNodes=UNLIMITED", "MinNodes=2")
	says("Nodes: 1\nTime: 5\n", "misfit.yaml:3:8: error: --nodes=1, but a job of partition gpu has at least 2 nodes [script/nodes]")
}
