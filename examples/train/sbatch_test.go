package train_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// batch runs train.sbatch as Slurm would on two nodes, with both nodes on this machine.
func batch(t *testing.T, p place, env ...string) (string, error) {
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
		"GLOO_SOCKET_IFNAME=lo", "MASTER_PORT="+freePort(t), "MODEL=small",
		"DATA_DIR="+p.path("data"), "CHECKPOINT_DIR="+p.path("checkpoints"),
		"OUTPUT_DIR="+p.path("outputs"), "LOG_DIR="+p.path("logs"),
		"STEPS=4", "CHECKPOINT_FREQ=2")
	cmd.Env = append(cmd.Env, env...)
	// What the script started must not outlive it. torchrun's ranks have sessions
	// of their own and end when they miss the others, but may hold the output open.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestBatchScriptTrainsAndResumes(t *testing.T) {
	requireTorch(t)
	p := newPlace(t)
	out, err := batch(t, p)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if first, _, _ := strings.Cut(out, "\n"); first != "Job 41 attempt 1 on n[1-2]" {
		t.Errorf("first line is %q", first)
	}
	if !strings.Contains(out, "\nTraining small on 2 ranks\n") || !strings.Contains(out, "exit code 0\n") {
		t.Errorf("output lacks the ranks or the exit code:\n%s", out)
	}
	want := final(t, out)

	again, err := batch(t, p, "SLURM_RESTART_COUNT=1")
	if err != nil {
		t.Fatalf("%v\n%s", err, again)
	}
	if !strings.HasPrefix(again, "Job 41 attempt 2 on n[1-2]\n") {
		t.Errorf("the second attempt does not say so:\n%s", again)
	}
	if got := final(t, again); got != want {
		t.Errorf("the second attempt's weights are %s, want %s", got, want)
	}
}

func TestBatchScriptFailsWhenTrainingFails(t *testing.T) {
	requireTorch(t)
	out, err := batch(t, newPlace(t), "STEPS=0")
	if _, failed := errors.AsType[*exec.ExitError](err); !failed {
		t.Errorf("got %v, want a failed script:\n%s", err, out)
	}
	if !strings.Contains(out, "--steps must be at least 1") {
		t.Errorf("the output does not say why:\n%s", out)
	}
}
