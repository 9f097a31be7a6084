package test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/sys/shell"
	"github.com/muster-hpc/muster/test/soak"
)

// modelsJob trains each model of the guide's in directories of its own, until it is told to stop.
const modelsJob = `Job: "{model}-training"
Launcher: srun
Ranks: 1
Script: code/train.py
Python: /usr/bin/python3
Arguments: [--data-dir, /fsx1/datasets, --checkpoint-dir, "/fsx2/{model}/checkpoints", --output-dir, "/fsx2/{model}/outputs", --log-dir, "/fsx3/{model}/training_logs",
  --model-name, "{model}", --steps, 1000000, --checkpoint-freq, 1000000, --stop-file, %[1]s/stop]
Data: [/fsx1/datasets]
Checkpoints: "/fsx2/{model}/checkpoints"
Logs: "/fsx3/{model}/logs"
Time: 14-00:00:00
Environment: {USE_LIBUV: 0}
`

// TestSoak_seven_models trains the seven models of a field guide at once, on its cluster: on as many nodes as examples/guide-80 says
// if MUSTER_NODES is 80, by default on one for each model and two for the last.
func TestSoak_seven_models(t *testing.T) {
	soak.Only(t, "trains seven models; TestJobFiles runs a job of several models")
	t.Parallel()
	torchLauncher(t)
	nodes := fromEnvironment(t, "MUSTER_NODES", 8)
	c := unmade(t, guideFile(t, "cluster.yaml", nodes))
	c.file("muster.yaml", guideFile(t, "muster.yaml", nodes))
	c.must("up", "--no-test", "cluster.yaml")
	if err := os.CopyFS(filepath.Join(c.dir, "code"), os.DirFS("../examples/train")); err != nil {
		t.Fatal(err)
	}
	c.head("/usr/bin/python3", "code/prepare.py", "--data-dir", "/fsx1/datasets")
	c.file("models.yaml", fmt.Sprintf(modelsJob, c.dir))
	var answer struct {
		Jobs []struct {
			ID         int
			Job, Model string
		} `json:"jobs"`
	}
	if err := json.Unmarshal([]byte(c.must("job", "submit", "-o", "json", "--all", "models.yaml")), &answer); err != nil || len(answer.Jobs) != 7 {
		t.Fatalf("%v: submitted %+v", err, answer.Jobs)
	}
	c.await("all models train", 20*time.Minute, func() bool {
		for _, j := range answer.Jobs {
			log := c.shared("fsx3/" + j.Model + "/logs/" + j.Job + "-" + strconv.Itoa(j.ID) + ".out")
			if strings.Contains(log, " with exit code ") {
				t.Fatalf("%s has ended:\n%s", j.Job, log)
			}
			if !strings.Contains(log, "Batch 2 Loss") {
				return false
			}
		}
		return true
	})
	c.sevenAtOnce(nodes)
	c.watched(time.Duration(fromEnvironment(t, "MUSTER_TOP_SECONDS", 0)) * time.Second)
	c.file("stop", "")
	for _, j := range answer.Jobs {
		c.modelEnds(j.Job, j.Model, strconv.Itoa(j.ID))
	}
}

// guideFile is a file of examples/guide-80 for so many nodes.
func guideFile(t *testing.T, name string, nodes int) string {
	t.Helper()
	text, err := os.ReadFile("../examples/guide-80/" + name)
	if err != nil {
		t.Fatal(err)
	}
	switch nodes {
	case 80:
		return string(text)
	case 8:
		return strings.NewReplacer("Nodes: 11,", "Nodes: 1,", "Nodes: 14,", "Nodes: 2,", "MaxCount: 80 ", "MaxCount: 8 ").Replace(string(text))
	}
	t.Fatalf("MUSTER_NODES is %d: 8 or 80", nodes)
	return ""
}

// shared is a file of the cluster's shared directories, empty if there is none.
func (c *cluster) shared(name string) string {
	text, _ := os.ReadFile(c.path("shared", name))
	return string(text)
}

// shownModel is what this test looks at of a job in `top --once -o json`.
type shownModel struct {
	NumNodes int `json:"num_nodes"`
	Kept     *struct {
		Samples []keptSample
	}
}

// sevenAtOnce holds that top and job list show seven models that train, on all nodes.
func (c *cluster) sevenAtOnce(nodes int) {
	c.t.Helper()
	for _, j := range c.jobs() {
		if j.State != "RUNNING" {
			c.t.Errorf("%s is %s", j.Name, j.State)
		}
	}
	var seen struct{ Jobs []shownModel }
	c.await("top shows the losses of all", patience, func() bool {
		if err := json.Unmarshal([]byte(c.must("top", "--once", "-o", "json")), &seen); err != nil {
			c.t.Fatal(err)
		}
		return !slices.ContainsFunc(seen.Jobs, func(j shownModel) bool { return j.Kept == nil || len(j.Kept.Samples) == 0 })
	})
	sum := 0
	for _, j := range seen.Jobs {
		sum += j.NumNodes
	}
	if len(seen.Jobs) != 7 || sum != nodes {
		c.t.Errorf("top shows %d jobs on %d nodes", len(seen.Jobs), sum)
	}
	text := c.must("top", "--once")
	c.t.Logf("muster top --once:\n%s", text)
	if !strings.Contains(text, "7 running") || !strings.Contains(text, fmt.Sprintf("%d allocated", nodes)) {
		c.t.Error("that is not what runs")
	}
}

// modelEnds holds that a model stopped when it was told to, with all that it leaves in its own directories.
func (c *cluster) modelEnds(job, model, id string) {
	c.t.Helper()
	log := "fsx3/" + model + "/logs/" + job + "-" + id + ".out"
	c.await(job+" ends", 10*time.Minute, func() bool { return strings.Contains(c.shared(log), " with exit code ") })
	k := &kept{cluster: c, id: id}
	c.await(job+" is judged", patience, func() bool { j := k.look(); return j.State == "COMPLETED" && j.Kept != nil && j.Kept.Phase == "ended" })
	saved := strings.TrimSpace(c.shared("fsx2/" + model + "/checkpoints/latest"))
	step, err := strconv.Atoi(strings.TrimPrefix(saved, "checkpoint-"))
	if own := c.shared("fsx3/" + model + "/training_logs/" + model + ".log"); err != nil || !strings.Contains(own, fmt.Sprintf(" Stopped before batch %d,", step)) {
		c.t.Errorf("%s left the checkpoint %q, and says\n%s", job, saved, own)
	}
	curves, _ := filepath.Glob(c.path("shared", "fsx3", model, "logs", "tensorboard", job+"-"+id, "events.out.tfevents.*"))
	if len(curves) == 0 {
		c.t.Errorf("%s has no curves", job)
	}
}

// watched says what `muster top` takes of a processor in so long a time, and those that it starts.
func (c *cluster) watched(long time.Duration) {
	c.t.Helper()
	if long == 0 {
		return
	}
	socket, top := filepath.Join(c.t.TempDir(), "s"), c.command("top")
	start := exec.CommandContext(c.t.Context(), "tmux", "-f", "/dev/null", "-S", socket, "new-session", "-d", "-x", "120", "-y", "40", shell.Line(top.Args))
	start.Dir, start.Env = top.Dir, append(top.Env, "LC_ALL=C.UTF-8")
	if out, err := start.CombinedOutput(); err != nil {
		c.t.Fatalf("tmux: %v\n%s", err, out)
	}
	defer exec.Command("tmux", "-S", socket, "kill-server").Run()
	out, err := exec.CommandContext(c.t.Context(), "tmux", "-S", socket, "display-message", "-p", "#{pane_pid}").Output()
	if err != nil {
		c.t.Fatal(err)
	}
	shown := func() string {
		text, _ := exec.Command("tmux", "-S", socket, "capture-pane", "-p").Output()
		return string(text)
	}
	c.await("top shows the models", patience, func() bool { return strings.Contains(shown(), "7 running") })
	began, before := time.Now(), ticks(strings.TrimSpace(string(out)))
	c.await("top was watched", 2*long, func() bool { return time.Since(began) > long })
	took := float64(ticks(strings.TrimSpace(string(out)))-before) / 100
	c.t.Logf("muster top took %.2f s of CPU in %.0f s: %.2f %% of a core\n%s", took, time.Since(began).Seconds(), 100*took/time.Since(began).Seconds(), shown())
}

// ticks are the hundredths of a second that a process, its children and those of theirs that have ended took. One that has ended
// meanwhile is among its parent's next time.
func ticks(pid string) int {
	text, _ := os.ReadFile("/proc/" + pid + "/stat")
	_, rest, _ := strings.Cut(string(text), ") ")
	sum := 0
	if fields := strings.Fields(rest); len(fields) > 15 {
		for _, field := range fields[11:15] { // utime, stime, cutime, cstime
			n, _ := strconv.Atoi(field)
			sum += n
		}
	}
	threads, _ := filepath.Glob("/proc/" + pid + "/task/*/children")
	for _, thread := range threads {
		children, _ := os.ReadFile(thread)
		for _, child := range strings.Fields(string(children)) {
			sum += ticks(child)
		}
	}
	return sum
}
