package demo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

const (
	// torchScript is the batch script whose steps run in containers.
	torchScript = "container.sbatch"
	// patience is how long one part of a training may take on a slow machine.
	patience = 10 * time.Minute
)

// training is one batch script that trains twice: the first time it loses a node.
type training struct {
	*demo
	script string
	// killAfter is the batch after which a node loses its power: there are some
	// checkpoints by then, and much is still to be done.
	killAfter int
	// again is the model that the second run trains, and againLog the run's log.
	again, againLog string
	// job is the first run, and weights the digest of what it trained.
	job     int
	weights string
}

// train submits the job while no node runs that it needs, and waits until it has
// trained for a while and the loss falls.
func (t *training) train(ctx context.Context) (string, error) {
	t.Report.Note("$ sbatch " + t.script)
	var err error
	if t.job, err = t.slurm.Submit(ctx, slurm.SubmitOptions{Script: t.script, Dir: t.Dir}); err != nil {
		return "", err
	}
	var first, last job.Progress
	seen := false
	err = t.follow(ctx, t.job, func(log []byte) bool {
		for line := range bytes.Lines(log) {
			p, ok := job.ParseProgress(line)
			if ok && !seen {
				first, seen = p, true
			}
			if ok {
				last = p
			}
		}
		return last.Batch >= t.killAfter
	})
	if err != nil {
		return "", err
	}
	if last.Loss >= first.Loss {
		return "", fmt.Errorf("the loss did not fall: %.3f at batch %d, %.3f at batch %d", first.Loss, first.Batch, last.Loss, last.Batch)
	}
	return fmt.Sprintf("job %d, loss %.3f at batch %d, %.3f at batch %d", t.job, first.Loss, first.Batch, last.Loss, last.Batch), nil
}

// pullPlug kills the node that runs the batch script.
func (t *training) pullPlug(ctx context.Context) (string, error) {
	j, err := t.slurm.Job(ctx, t.job)
	if err != nil {
		return "", err
	}
	t.Report.Note("$ muster node kill " + j.BatchHost)
	if err := nodes.PullPlug(ctx, t.anchor, j.BatchHost); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s is gone, with the batch script and a rank of job %d", j.BatchHost, t.job), nil
}

// resume waits until the job runs again, by itself.
func (t *training) resume(ctx context.Context) (string, error) {
	resumed := ""
	err := t.follow(ctx, t.job, func(log []byte) bool {
		for line := range bytes.Lines(log) {
			if bytes.HasPrefix(line, []byte("Resumed from ")) {
				resumed = strings.TrimSpace(string(line))
			}
		}
		return resumed != ""
	})
	return "Slurm queued the job again; " + resumed, err
}

const weightsMark = "Final weights sha256: "

func (t *training) finish(ctx context.Context) (detail string, err error) {
	t.weights, err = t.jobEnd(ctx, t.job)
	t.result.Weights = t.weights
	return "weights " + short(t.weights), err
}

// jobEnd waits for a job's end and returns the digest of its weights.
func (t *training) jobEnd(ctx context.Context, id int) (string, error) {
	weights := ""
	err := t.follow(ctx, id, func(log []byte) bool {
		for line := range bytes.Lines(log) {
			if rest, ok := bytes.CutPrefix(line, []byte(weightsMark)); ok {
				weights = strings.TrimSpace(string(rest))
			}
		}
		return false
	})
	var ended *endedError
	if errors.As(err, &ended) && ended.state == "COMPLETED" && weights != "" {
		return weights, nil
	}
	if err == nil || ended != nil && ended.state == "COMPLETED" {
		err = errors.New("the job ended without saying what its weights are")
	}
	return "", err
}

// compare trains a second model with the same seed, without any accident, and
// compares the weights.
func (t *training) compare(ctx context.Context) (string, error) {
	id, err := t.slurm.Submit(ctx, slurm.SubmitOptions{Script: t.script, Dir: t.Dir, Env: []string{"MODEL=" + t.again},
		Flags: []string{"--job-name=" + t.again, "--output=" + t.againLog, "--error=" + t.againLog}})
	if err != nil {
		return "", err
	}
	weights, err := t.jobEnd(ctx, id)
	if err != nil {
		return "", err
	}
	if weights != t.weights {
		return "", fmt.Errorf("the weights differ: %s after the loss of a node, %s without", t.weights, weights)
	}
	return "bit-identical weights " + short(weights), nil
}

// endedError says that a job ended.
type endedError struct {
	id    int
	state string
	log   string
}

func (e *endedError) Error() string {
	return fmt.Sprintf("job %d ended as %s; the end of its output:\n%s", e.id, e.state, e.log)
}

// follow reads a job's output again and again until done says so, the job ends
// (an *endedError), or patience does.
func (t *training) follow(ctx context.Context, id int, done func(log []byte) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no end of it within %s", patience))
	defer cancel()
	for {
		j, err := t.slurm.Job(ctx, id)
		if err != nil {
			return err
		}
		path := t.hostPath(j.StdOut)
		log, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if done(log) {
			return nil
		}
		if slices.Contains([]string{"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE"}, j.State) {
			return &endedError{id, j.State, lastLines(path, 10)}
		}
		t.tell.waiting(fmt.Sprintf("job %d, %s: %s", id, strings.ToLower(j.State), lastOf(log)))
		if err := pause.For(ctx, 250*time.Millisecond); err != nil {
			return err
		}
	}
}

func lastOf(log []byte) string {
	last := ""
	for s := bufio.NewScanner(bytes.NewReader(log)); s.Scan(); {
		last = s.Text()
	}
	return last
}

func short(digest string) string { return digest[:min(16, len(digest))] }
