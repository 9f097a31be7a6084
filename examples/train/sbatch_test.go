package train_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/muster-hpc/muster/test/freeport"
)

// batch runs train.sbatch as Slurm would on two nodes, with both nodes on this machine.
func batch(t *testing.T, p place, env ...string) (string, error) {
	t.Helper()
	out, err := batchCommand(t, p, env...).CombinedOutput()
	return string(out), err
}

func batchCommand(t *testing.T, p place, env ...string) *exec.Cmd {
	t.Helper()
	bin, err := filepath.Abs("testdata/bin")
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(limit(t), "bash", "train.sbatch")
	cmd.Env = append(os.Environ(),
		"PATH="+bin+":/usr/bin:/bin", "SLURM_SUBMIT_DIR="+here,
		"SLURM_JOB_ID=41", "SLURM_JOB_NODELIST=n[1-2]", "SLURM_JOB_NUM_NODES=2", "SLURM_CPUS_PER_TASK=12",
		"GLOO_SOCKET_IFNAME=lo", "MASTER_PORT="+strconv.Itoa(freeport.OnLoopback(t)), "MODEL=small",
		"DATA_DIR="+p.path("data"), "CHECKPOINT_DIR="+p.path("checkpoints"),
		"OUTPUT_DIR="+p.path("outputs"), "LOG_DIR="+p.path("logs"),
		"STEPS=20", "CHECKPOINT_FREQ=20", "BATCH_SIZE=1")
	cmd.Env = append(cmd.Env, env...)
	// What the script started must not outlive it. torchrun's ranks have sessions
	// of their own and end when they miss the others, but may hold the output open.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// A job that Slurm tells to give way saves a checkpoint where it is, is queued again, and ends with the bits of one that
// was left alone.
func TestBatchScriptTrainsAndGivesWay(t *testing.T) {
	requireTorch(t)
	alone, err := batch(t, newPlace(t))
	if err != nil {
		t.Fatalf("%v\n%s", err, alone)
	}
	if first, _, _ := strings.Cut(alone, "\n"); first != "Job 41 attempt 1 on n[1-2]" {
		t.Errorf("first line is %q", first)
	}
	if !strings.Contains(alone, "\nTraining small on 2 ranks\n") || !strings.Contains(alone, "exit code 0\n") {
		t.Errorf("output lacks the ranks or the exit code:\n%s", alone)
	}
	p := newPlace(t)
	cmd := batchCommand(t, p)
	out := newWatched()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !out.await(limit(t), "Batch 1 Loss") {
		t.Fatalf("no batch\n%s", out)
	}
	if err := cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it is killed when it is queued again
	stopped := regexp.MustCompile(`\nStopped before batch (\d+), as \S+ asks\n`).FindStringSubmatch(out.String())
	if stopped == nil || !strings.Contains(out.String(), "\nJob 41 is queued again\n") {
		t.Fatalf("it did not give way:\n%s", out)
	}
	again, err := batch(t, p, "SLURM_RESTART_COUNT=1")
	if err != nil || !strings.Contains(again, " at batch "+stopped[1]+"\n") {
		t.Fatalf("%v: it did not go on at batch %s:\n%s", err, stopped[1], again)
	}
	if !strings.HasPrefix(again, "Job 41 attempt 2 on n[1-2]\n") {
		t.Errorf("the second attempt does not say so:\n%s", again)
	}
	if got, want := final(t, again), final(t, alone); got != want {
		t.Errorf("the weights are %s, and %s without an interruption", got, want)
	}
	if left, _ := filepath.Glob(p.path("checkpoints/.*")); len(left) > 0 {
		t.Errorf("there is still %v", left)
	}
}

func TestBatchScriptFailsWhenTrainingFails(t *testing.T) {
	requireTorch(t)
	out, err := batch(t, newPlace(t), "STEPS=0", "SLURM_JOB_NODELIST=n1", "SLURM_JOB_NUM_NODES=1")
	if _, failed := errors.AsType[*exec.ExitError](err); !failed {
		t.Errorf("got %v, want a failed script:\n%s", err, out)
	}
	if !strings.Contains(out, "--steps must be at least 1") {
		t.Errorf("the output does not say why:\n%s", out)
	}
}
