package test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/test/soak"
)

// trainersVenv has what `make python` installs beside Debian's PyTorch. Nodes see no such folder: the test has a copy.
const trainersVenv = "../bin/trainers"

// shardedVenv has PyPI's PyTorch and DeepSpeed: Debian's PyTorch can import no FSDP.
const shardedVenv = "../bin/sharded"

// foreignTrainer is a training that finds its ranks by itself, and what it says of how it found them.
type foreignTrainer struct {
	script, arguments, launcher, found string
	sharded                            bool
}

func (f foreignTrainer) name() string {
	return strings.TrimSuffix(f.script, "_train") + "-" + f.launcher
}

// foreignTrainers are started by Slurm alone, and by torchrun where that of the PyTorch that is there can start anything. DeepSpeed
// compiles for minutes before its first step: MUSTER_DEEPSPEED has it run.
func foreignTrainers(t *testing.T) []foreignTrainer {
	t.Helper()
	const hf, own = "ParallelMode.DISTRIBUTED", "DistributedType.MULTI_CPU gloo"
	all := []foreignTrainer{
		{script: "lightning_train", arguments: "--nodes, 2", launcher: "srun", found: "SLURMEnvironment"},
		{script: "trainer_train", launcher: "srun", found: hf},
		{script: "accelerate_train", launcher: "srun", found: own},
		{script: "fsdp_train", launcher: "fsdp", found: "FSDP gloo", sharded: true},
	}
	if os.Getenv("MUSTER_DEEPSPEED") != "" {
		all = append(all, foreignTrainer{script: "deepspeed_train", launcher: "deepspeed", found: "ZeRO gloo", sharded: true})
	}
	if torchLauncher(t) == "srun" {
		return all
	}
	return append(all,
		foreignTrainer{script: "lightning_train", arguments: "--nodes, 2", launcher: "torchrun", found: "TorchElasticEnvironment"},
		foreignTrainer{script: "trainer_train", launcher: "torchrun", found: hf},
		foreignTrainer{script: "accelerate_train", launcher: "accelerate", found: own})
}

const foreignJob = `Job: %[1]s
Nodes: 2
Ranks: 1
Launcher: %[2]s
Script: scripts/%[3]s.py
Python: %[7]s
Arguments: [--dir, %[4]s/%[1]s, --steps, %[5]d, %[6]s]
Checkpoints: %[4]s/%[1]s/checkpoints
Environment: {USE_LIBUV: 0, PYTHONUNBUFFERED: 1, TORCH_EXTENSIONS_DIR: %[4]s/extensions, ACCELERATE_USE_CPU: "true", PET_REDIRECTS: 2, PYTHONPATH: %[8]s}
Time: 60
`

// submitTrainer submits a trainer's job, and returns its ID.
func (c *cluster) submitTrainer(f foreignTrainer, steps int) string {
	c.t.Helper()
	python, mended := "venv/bin/python", filepath.Join(c.dir, "scripts", "debian")
	if f.sharded {
		python, mended = "sharded/bin/python", `""`
	}
	c.file(f.name()+".yaml", fmt.Sprintf(foreignJob, f.name(), f.launcher, f.script, c.dir, steps, f.arguments, python, mended))
	return strings.TrimSpace(c.must("job", "submit", f.name()+".yaml"))
}

// TestForeignTrainers runs PyTorch Lightning, Hugging Face's Trainer and accelerate as they are in jobs of two nodes, all at
// once: they find their ranks in what the batch script and Slurm say, and muster reads in what they print how far they are.
func TestForeignTrainers(t *testing.T) {
	t.Parallel()
	needFiles(t, trainersVenv+"/made")
	c := newCluster(t, fileOf(6))
	c.copyVenv(trainersVenv, "venv")
	c.copyScripts("trainers")
	c.runTrainers(t, slices.DeleteFunc(foreignTrainers(t), func(f foreignTrainer) bool { return f.sharded || f.launcher != "srun" }))
}

// TestSoak_foreign_trainers runs the same by other launchers, and FSDP.
func TestSoak_foreign_trainers(t *testing.T) {
	soak.Only(t, "PyPI's PyTorch, and the trainers of TestForeignTrainers by other launchers")
	t.Parallel()
	needFiles(t, trainersVenv+"/made", shardedVenv+"/made")
	c := newCluster(t, fileOf(6))
	c.copyVenv(trainersVenv, "venv")
	c.copyVenv(shardedVenv, "sharded")
	c.copyScripts("trainers")
	c.runTrainers(t, slices.DeleteFunc(foreignTrainers(t), func(f foreignTrainer) bool { return !f.sharded && f.launcher == "srun" }))
}

// runTrainers runs the trainers at once, each to its end.
func (c *cluster) runTrainers(t *testing.T, trainers []foreignTrainer) {
	t.Helper()
	const steps = 40
	ids := map[string]string{}
	for _, f := range trainers {
		ids[f.name()] = c.submitTrainer(f, steps)
	}
	for _, f := range trainers {
		t.Run(f.name(), func(t *testing.T) { c.as(t).trainerEnds(f.name(), ids[f.name()], f.found, steps) })
	}
}

// trainerEnds holds that a trainer found its two ranks, and that its steps and losses are seen.
func (c *cluster) trainerEnds(name, id, found string, steps int) {
	c.t.Helper()
	log := "logs/" + name + "-" + id + ".out"
	c.await(name+" ends", 5*time.Minute, func() bool { return strings.Contains(c.read(log), " with exit code ") })
	text := c.read(log)
	for rank := range 2 {
		if want := fmt.Sprintf("%s: rank %d of 2, %d steps", found, rank, steps); !strings.Contains(text, want) {
			c.t.Fatalf("no %q in\n%s", want, text)
		}
	}
	k := &kept{cluster: c, id: id}
	var j shownKept
	c.await(name+" is judged", patience, func() bool { j = k.look(); return j.State != "COMPLETING" && j.Kept != nil && j.Kept.Phase == "ended" })
	samples := slices.DeleteFunc(j.Kept.Samples, func(s keptSample) bool { return s.Loss == nil })
	if j.State != "COMPLETED" || len(samples) < 2 {
		c.t.Fatalf("%s: %s, %d samples in\n%s", name, j.State, len(samples), text)
	}
	first, last := samples[0], samples[len(samples)-1]
	// Trainer's lines do not say their steps, which its bar says, and bars come late through Slurm and torchrun.
	late := int64(0)
	if strings.HasPrefix(name, "trainer") {
		late = 20
	}
	if last.Step > int64(steps) || last.Step < int64(steps)-late || *last.Loss >= *first.Loss/2 {
		c.t.Errorf("%s: from step %d, loss %g, to step %d, loss %g", name, first.Step, *first.Loss, last.Step, *last.Loss)
	}
	if own := c.stderrs("logs/" + id + ".1/ranks"); own != 2 && !strings.HasSuffix(name, "-srun") {
		c.t.Errorf("%s: %d ranks have a file of what they wrote to stderr", name, own)
	}
	// gloo may abort a rank that still waits when another one is through. Then muster starts the job again, samples are of
	// both runs, and TensorBoard shows each step once.
	seen := map[int64]bool{}
	for _, s := range samples {
		seen[s.Step] = true
	}
	if curve := c.curve(j.Kept.Curves, "train/loss"); len(curve) < len(seen) {
		c.t.Errorf("%s: %d steps, and on TensorBoard %d points", name, len(seen), len(curve))
	}
}

// stderrs counts the files in which torchrun keeps what a rank writes to stderr.
func (c *cluster) stderrs(dir string) (found int) {
	_ = filepath.WalkDir(filepath.Join(c.dir, dir), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "stderr.log" {
			found++
		}
		return nil
	})
	return found
}

// curve are the points that TensorBoard's own reader finds in a directory.
func (c *cluster) curve(dir, tag string) [][3]any {
	c.t.Helper()
	reader, err := filepath.Abs("../internal/job/tensorboard/read.py")
	if err != nil {
		c.t.Fatal(err)
	}
	python := filepath.Join(cmp.Or(os.Getenv("MUSTER_PYTHON"), "../bin/py"), "bin", "python")
	out, err := exec.CommandContext(c.t.Context(), python, reader, dir).Output()
	var found map[string]map[string][][3]any
	if err == nil {
		err = json.Unmarshal(out, &found)
	}
	if err != nil {
		c.t.Fatalf("%s: %v", dir, err)
	}
	return found["accumulator"][tag]
}
