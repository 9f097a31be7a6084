package test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestKeptJobs keeps jobs running whatever happens to them.
func TestKeptJobs(t *testing.T) {
	t.Parallel()
	newCluster(t, fileOf(5)+dataFile).each(map[string]func(*testing.T, *cluster){
		"stops_for_a_mistake":   keptStopsForAMistake,
		"is_followed":           keptIsFollowed,
		"goes_on_elsewhere":     keptGoesOnElsewhere,
		"skips_torn_checkpoint": keptSkipsTornCheckpoint,
		"outlives_controllers":  keptOutlivesControllers,
	})
}

// trainer is a training of two ranks, in which the second answers each step of the first. Its
// weights depend on every step.
const trainer = `import hashlib, json, os, sys, time
where, steps = sys.argv[1], int(sys.argv[2])
rank, run = int(os.environ["SLURM_PROCID"]), os.environ.get("SLURM_RESTART_COUNT", "0")

def write(name, text):
    path = os.path.join(where, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".tmp", "w") as file:
        file.write(text)
    os.rename(path + ".tmp", path)

def read(name):
    try:
        with open(os.path.join(where, name)) as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""

write(f"pids/{run}.{rank}", str(os.getpid()))
step, seen = f"steps/{run}", f"steps/{run}.seen"
if rank == 1:
    while read(step) != "end":
        if read(step) != read(seen):
            write(seen, read(step))
        time.sleep(0.01)
    sys.exit()
weights, n, latest = "", 0, read("checkpoints/latest")
if latest:
    weights, n = read(f"checkpoints/{latest}/model"), int(latest.split("-")[1])
    assert len(weights) == json.loads(read(f"checkpoints/{latest}/manifest.json"))["files"]["model"]["bytes"]
print("Resumed from", latest or "nothing", flush=True)
while n < steps:
    n += 1
    weights = hashlib.sha256(f"{weights}{n}".encode()).hexdigest()
    write(step, str(n))
    while read(seen) != str(n):
        time.sleep(0.01)
    print(f"Batch {n} Loss: {1 / n:.5f}, Speed: 1.00 samples/sec, lr: 0.001", flush=True)
    if n % 5 == 0:
        name = f"checkpoint-{n:08d}"
        write(f"checkpoints/{name}/model", weights)
        write(f"checkpoints/{name}/manifest.json", json.dumps({"files": {"model": {"bytes": len(weights)}}}))
        write("checkpoints/latest", name + "\n")
    if n == 30 and run == "0":
        over = time.monotonic() + int(os.environ.get("EVALUATES_FOR", "0"))
        while time.monotonic() < over:
            hashlib.sha256(weights.encode()).hexdigest()
    time.sleep(0.1)
write("final", weights)
write(step, "end")
`

// weightsOf are those of a training that nothing disturbed.
func weightsOf(steps int) string {
	weights := ""
	for n := 1; n <= steps; n++ {
		weights = fmt.Sprintf("%x", sha256.Sum256([]byte(weights+strconv.Itoa(n))))
	}
	return weights
}

// shownKept is what the tests look at of a kept job.
type shownKept struct {
	State string `json:"state"`
	Ended bool   `json:"ended"`
	Kept  *struct {
		Phase      string `json:"phase"`
		Restarts   int    `json:"restarts"`
		Checkpoint *struct {
			Step int64 `json:"step"`
		} `json:"checkpoint"`
		Samples []keptSample `json:"samples"`
		Curves  string       `json:"curves"`
		Rounds  []struct {
			Class    string   `json:"class"`
			Why      string   `json:"why"`
			AtFault  string   `json:"at_fault"`
			Action   string   `json:"action"`
			Findings []string `json:"findings"`
		} `json:"rounds"`
	} `json:"kept"`
}

// keptSample is a line of progress.
type keptSample struct {
	Step int64    `json:"step"`
	Loss *float64 `json:"loss"`
}

// kept is a training that is kept.
type kept struct {
	*cluster
	id, dir string
	steps   int
}

// keep submits a training with lines of its script that say what it wishes.
func (c *cluster) keep(name string, steps int, wishes string) *kept {
	c.t.Helper()
	dir := c.path("shared", "fsx1", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		c.t.Fatal(err)
	}
	c.file("trainer.py", trainer)
	c.file(name+".sbatch", fmt.Sprintf(`#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --job-name=%[1]s --time=30 --exclusive --open-mode=append
%[2]s
srun python3 trainer.py /fsx1/%[1]s %[3]d
`, name, wishes, steps))
	id := strings.TrimSpace(c.must("job", "submit", name+".sbatch"))
	return &kept{cluster: c, id: id, dir: dir, steps: steps}
}

func (k *kept) look() (j shownKept) {
	k.t.Helper()
	if err := json.Unmarshal([]byte(k.must("job", "show", "-o", "json", k.id)), &j); err != nil {
		k.t.Fatal(err)
	}
	return j
}

// text is a file of the training's, empty if there is none.
func (k *kept) text(name string) string {
	text, _ := os.ReadFile(filepath.Join(k.dir, name))
	return strings.TrimSpace(string(text))
}

// reaches waits for a checkpoint of the training.
func (k *kept) reaches(step int) {
	k.t.Helper()
	k.await(fmt.Sprintf("there is a checkpoint of step %d", step), time.Minute, func() bool {
		_, at, _ := strings.Cut(k.text("checkpoints/latest"), "-")
		n, _ := strconv.Atoi(at)
		return n >= step
	})
}

// completes waits for the end, and holds the weights against those of an undisturbed run.
func (k *kept) completes() shownKept {
	k.t.Helper()
	var j shownKept
	k.await("the job completes", 4*time.Minute, func() bool {
		j = k.look()
		return j.State == "COMPLETED" && j.Kept != nil && j.Kept.Phase == "ended"
	})
	if got, want := k.text("final"), weightsOf(k.steps); got != want {
		k.t.Errorf("the weights are %q, want %q", got, want)
	}
	return j
}

// events are the kinds of the events of the job, and what they say.
func (k *kept) events() string {
	k.t.Helper()
	var said strings.Builder
	for line := range strings.Lines(k.must("events", "-o", "json")) {
		var e struct {
			Job                int
			Kind, Reason, Hint string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			k.t.Fatal(err)
		}
		if strconv.Itoa(e.Job) == k.id {
			fmt.Fprintf(&said, "%s: %s; %s\n", e.Kind, e.Reason, e.Hint)
		}
	}
	return said.String()
}

const keptWishes = "#MUSTER --checkpoints="

func keptStopsForAMistake(t *testing.T, c *cluster) {
	c.file("mistake.sbatch", "#!/bin/bash\n#SBATCH --time=5\n#MUSTER --restarts=3\nsrun python3 -c 'import nonesuch'\n")
	k := &kept{cluster: c, id: strings.TrimSpace(c.must("job", "submit", "mistake.sbatch"))}
	var j shownKept
	c.await("the job is judged", time.Minute, func() bool {
		j = k.look()
		return j.Kept != nil && j.Kept.Phase == "ended"
	})
	if r := j.Kept.Rounds; len(r) != 1 || r[0].Class != "import-error" || r[0].Action != "stop" || !strings.Contains(r[0].Why, "nonesuch") || j.State != "FAILED" {
		t.Errorf("%s: %+v", j.State, r)
	}
	if said := k.events(); !strings.Contains(said, "job stopped: job "+k.id+" is not started again: it would end so again") {
		t.Errorf("events:\n%s", said)
	}
}

// Who follows a job whose first run fails sees the second one, too, and its exit code; one that fails at once and is
// not started again ends so.
func keptIsFollowed(t *testing.T, c *cluster) {
	const head = "#!/bin/bash\n#SBATCH --time=5 --open-mode=append\n#MUSTER --restarts=3\n"
	c.file("once.sbatch", head+"echo run $((SLURM_RESTART_COUNT + 0))\n[ -n \"$SLURM_RESTART_COUNT\" ]\n")
	r := c.run("run", "once.sbatch")
	if r.code != 0 || r.stdout != "run 0\nrun 1\n" {
		t.Errorf("exit code %d, and\n%s", r.code, r.stdout)
	}
	from := 0
	for _, part := range []string{" failed with exit code 1", "; it is started again (restart 1 of 3)\n", " went back into the queue\n", " completed"} {
		n := strings.Index(r.stderr[from:], part)
		if n < 0 {
			t.Fatalf("it does not say %q:\n%s", part, r.stderr)
		}
		from += n
	}
	c.file("never.sbatch", head+"srun python3 -c 'import nonesuch'\n")
	if r = c.run("run", "never.sbatch"); r.code != 1 || !strings.Contains(r.stderr, "; it is not started again: ") {
		t.Errorf("exit code %d, and\n%s", r.code, r.stderr)
	}
}

func keptGoesOnElsewhere(t *testing.T, c *cluster) {
	k := c.keep("elsewhere", 100, keptWishes+"/fsx1/elsewhere/checkpoints")
	k.reaches(20)
	c.await("its samples are seen", time.Minute, func() bool { j := k.look(); return j.Kept != nil && len(j.Kept.Samples) > 5 })
	lost := c.show(k.id).Nodes[1]
	c.must("node", "kill", lost)
	j := k.completes()
	if r := j.Kept.Rounds; j.Kept.Restarts != 1 || len(r) != 2 || r[0].Class != "node-lost" || r[0].AtFault != lost {
		t.Errorf("got %+v", j.Kept)
	}
	if nodes := c.show(k.id).Nodes; strings.Contains(strings.Join(nodes, " "), lost) {
		t.Errorf("it lost %s and went on on %v", lost, nodes)
	}
	if j.Kept.Checkpoint == nil || j.Kept.Checkpoint.Step != 100 {
		t.Errorf("got %+v", j.Kept.Checkpoint)
	}
}

// A checkpoint that is newer than all others and torn, and the pointer that names it, would end
// each further run.
func keptSkipsTornCheckpoint(t *testing.T, c *cluster) {
	k := c.keep("torn", 60, keptWishes+"/fsx1/torn/checkpoints")
	k.reaches(15)
	lost := c.show(k.id).Nodes[0]
	torn := filepath.Join(k.dir, "checkpoints", "checkpoint-00000055")
	if err := os.Mkdir(torn, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{torn + "/model": "x", torn + "/manifest.json": `{"files":{"model":{"bytes":64}}}`} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c.must("node", "kill", lost)
	if err := os.WriteFile(filepath.Join(k.dir, "checkpoints", "latest"), []byte("checkpoint-00000055\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	k.completes()
	if said := k.events(); !strings.Contains(said, "job checkpoint: job "+k.id) || !strings.Contains(said, "model has 1 bytes, and manifest.json says 64") {
		t.Errorf("events:\n%s", said)
	}
	if _, err := os.Stat(filepath.Join(k.dir, "checkpoints", "torn.checkpoint.00000055.part")); err != nil {
		t.Error(err)
	}
}

// The controller dies before a node does, right after, and while the job comes back: the job is
// queued again once, and loses nothing.
func keptOutlivesControllers(t *testing.T, c *cluster) {
	k := c.keep("outlives", 120, keptWishes+"/fsx1/outlives/checkpoints")
	k.reaches(10)
	c.killService("controller")
	k.reaches(30)
	lost := c.show(k.id).Nodes[1]
	c.must("node", "kill", lost)
	c.killService("controller")
	k.reaches(40)
	c.killService("controller")
	j := k.completes()
	if rows := strings.Fields(c.head("sacct", "--noheader", "--allocations", "--duplicates", "--format=State", "--jobs="+k.id)); len(rows) != 2 {
		t.Errorf("its runs ended as %v", rows)
	}
	if j.Kept.Restarts != 1 || len(j.Kept.Samples) < 100 {
		t.Errorf("%d restarts, %d samples", j.Kept.Restarts, len(j.Kept.Samples))
	}
}
