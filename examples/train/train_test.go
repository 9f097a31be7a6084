package train_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/test/freeport"
	"github.com/muster-hpc/muster/test/soak"
)

const python = "/usr/bin/python3"

// small is a model and a run that take a few seconds on one slow core.
var small = []string{
	"--layers", "1", "--width", "32", "--sequence", "32", "--steps", "24", "--checkpoint-freq", "4",
	"--model-name", "small", "--seed", "7",
}

var (
	finalLine  = regexp.MustCompile(`(?m)^Final weights sha256: ([0-9a-f]{64})$`)
	batchLine  = regexp.MustCompile(`^Batch \d+ Loss: \d+\.\d{5}, Speed: \d+\.\d\d samples/sec, lr: 0\.\d{6}$`)
	resumeLine = regexp.MustCompile(`(?m)^Resumed from \S+/checkpoint-(\d{8}) at batch (\d+)$`)
)

// place is where one training run keeps its things.
type place struct{ dir string }

func (p place) path(name string) string { return filepath.Join(p.dir, name) }

// newPlace returns a place with the training text in it.
func newPlace(t *testing.T) place {
	t.Helper()
	p := place{t.TempDir()}
	prepare(t, p.path("data"))
	return p
}

// training is a started run: one process for each rank.
type training struct {
	ranks []*exec.Cmd
	out   *watched
}

// start starts a training run. The end of ctx kills its ranks with SIGKILL.
func start(ctx context.Context, t *testing.T, p place, ranks int) *training {
	t.Helper()
	run := &training{out: newWatched()}
	port := strconv.Itoa(freeport.OnLoopback(t))
	for rank := range ranks {
		args := append([]string{
			"-B", "train.py", "--data-dir", p.path("data"), "--checkpoint-dir", p.path("checkpoints"),
			"--log-dir", p.path("logs"), "--output-dir", p.path("outputs"),
		}, small...)
		cmd := exec.CommandContext(ctx, python, args...)
		cmd.Env = append(os.Environ(),
			fmt.Sprintf("RANK=%d", rank), fmt.Sprintf("WORLD_SIZE=%d", ranks),
			"MASTER_ADDR=127.0.0.1", "MASTER_PORT="+port, "GLOO_SOCKET_IFNAME=lo",
			"USE_LIBUV=0", "OMP_NUM_THREADS=1")
		cmd.Stdout, cmd.Stderr = run.out, run.out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		run.ranks = append(run.ranks, cmd)
	}
	return run
}

// wait waits for every rank and returns the first error.
func (r *training) wait() error {
	var first error
	for _, cmd := range r.ranks {
		if err := cmd.Wait(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// train runs to the end and returns the output.
func train(t *testing.T, p place, ranks int) string {
	t.Helper()
	run := start(limit(t), t, p, ranks)
	if err := run.wait(); err != nil {
		t.Fatalf("train on %d ranks: %v\n%s", ranks, err, run.out)
	}
	return run.out.String()
}

// Each run imports PyTorch in each rank, which takes longer than the training: so one whole run serves all that follows.
func TestTraining(t *testing.T) {
	requireTorch(t)
	whole := newPlace(t)
	out := train(t, whole, 2)
	t.Run("log_and_output", func(t *testing.T) { logAndOutput(t, whole, out) })
	t.Run("resumes_with_the_same_bits", func(t *testing.T) { resumes(t, 2, final(t, out)) })
	t.Run("passes_over_a_damaged_checkpoint", func(t *testing.T) { passesOverDamage(t, whole, final(t, out)) })
}

func TestSoak_training_on_other_ranks(t *testing.T) {
	requireTorch(t)
	soak.Only(t, "15 processes import PyTorch; TestTraining shows the same on two ranks")
	for _, ranks := range []int{1, 4} {
		t.Run(fmt.Sprintf("%d_ranks", ranks), func(t *testing.T) { resumes(t, ranks, final(t, train(t, newPlace(t), ranks))) })
	}
}

// resumes holds that a run that was killed in its middle ends with the weights of one that was not.
func resumes(t *testing.T, ranks int, want string) {
	t.Helper()
	p := newPlace(t)
	killAfter(t, p, ranks, "checkpoint-00000012")
	out := train(t, p, ranks)
	at := resumeLine.FindStringSubmatch(out)
	if at == nil || at[2] == "0" {
		t.Fatalf("the second run did not resume:\n%s", out)
	}
	if got := final(t, out); got != want {
		t.Errorf("resumed weights are %s, uninterrupted ones %s", got, want)
	}
}

// passesOverDamage damages the newest checkpoint of a run that ended with the weights want, and trains again.
func passesOverDamage(t *testing.T, p place, want string) {
	t.Helper()
	newest := p.path("checkpoints/checkpoint-00000024")
	damage(t, filepath.Join(newest, "optimizer.pt"))

	out := train(t, p, 2)
	if report := "Checkpoint " + newest + " is damaged: optimizer.pt has "; !strings.Contains(out, report) {
		t.Errorf("no line with %q in:\n%s", report, out)
	}
	if at := resumeLine.FindStringSubmatch(out); at == nil || at[2] != "20" {
		t.Errorf("resumed at %v, want batch 20:\n%s", at, out)
	}
	if got := final(t, out); got != want {
		t.Errorf("weights are %s, want %s", got, want)
	}
}

// logAndOutput looks at what a whole run on two ranks has printed and written.
func logAndOutput(t *testing.T, p place, out string) {
	t.Helper()
	lines := strings.Split(out, "\n")
	if lines[0] != "Training small on 2 ranks" {
		t.Errorf("first line is %q", lines[0])
	}
	batches := 0
	for _, line := range lines {
		if !strings.HasPrefix(line, "Batch") {
			continue
		}
		batches++
		if !batchLine.MatchString(line) {
			t.Errorf("line %q is not in the guides' style", line)
		}
	}
	if batches != 24 {
		t.Errorf("%d lines of batches, want 24", batches)
	}
	if got := read(t, p.path("outputs/final/weights.sha256")); got != final(t, out)+"\n" {
		t.Errorf("weights.sha256 holds %q, the log says %s", got, final(t, out))
	}
	if got := read(t, p.path("checkpoints/latest")); got != "checkpoint-00000024\n" {
		t.Errorf("latest is %q", got)
	}
	names, err := filepath.Glob(p.path("checkpoints/checkpoint-*"))
	if err != nil || len(names) != 3 {
		t.Errorf("checkpoints kept: %v, %v; want 3", names, err)
	}
}

// killAfter starts a run and kills every rank with SIGKILL once the checkpoint is announced.
func killAfter(t *testing.T, p place, ranks int, checkpoint string) {
	t.Helper()
	ctx, cancel := context.WithCancel(limit(t))
	defer cancel()
	run := start(ctx, t, p, ranks)
	found := run.out.await(ctx, checkpoint)
	cancel()
	err := run.wait()
	if !found || err == nil || finalLine.MatchString(run.out.String()) {
		t.Fatalf("the run was not cut in the middle (%v):\n%s", err, run.out)
	}
}

func final(t *testing.T, out string) string {
	t.Helper()
	match := finalLine.FindStringSubmatch(out)
	if match == nil {
		t.Fatalf("no final weights in:\n%s", out)
	}
	return match[1]
}

// damage flips one byte in the middle of a file.
func damage(t *testing.T, path string) {
	t.Helper()
	data := []byte(read(t, path))
	data[len(data)/2] ^= 1
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func limit(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// requireTorch skips the test where Debian's PyTorch is not installed; where CI has it, that fails.
func requireTorch(t *testing.T) {
	t.Helper()
	const look = "import importlib.util, sys; sys.exit(not importlib.util.find_spec('torch'))"
	out, err := exec.CommandContext(t.Context(), python, "-c", look).CombinedOutput()
	if err == nil {
		return
	}
	lack := fmt.Sprintf("needs Debian's package python3-torch: %v: %s", err, bytes.TrimSpace(out))
	if os.Getenv("MUSTER_CI") == "1" {
		t.Fatal(lack)
	}
	t.Skip(lack)
}
