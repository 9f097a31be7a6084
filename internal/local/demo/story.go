package demo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

const (
	model     = "model1"
	reference = "model2"
	// script is the batch script, whose steps run in containers.
	script = "container.sbatch"
	// killAfter is the batch after which a node loses its power: there are some
	// checkpoints by then, and much is still to be done.
	killAfter = 70
	// patience is how long one part of the training may take on a slow machine.
	patience = 10 * time.Minute
)

// submit hands the batch script to Slurm while no node runs that it needs.
func (d *demo) submit(ctx context.Context) (string, error) {
	id, err := d.slurm.Submit(ctx, slurm.SubmitOptions{Script: script, Dir: d.Dir})
	if err != nil {
		return "", err
	}
	d.job = id
	return fmt.Sprintf("sbatch %s: job %d, 2 nodes with 8 GPUs each", script, id), nil
}

// train waits until the job has trained for a while, and saw what a user would
// see: nodes that come up, and a loss that falls.
func (d *demo) train(ctx context.Context) (string, error) {
	var first, last job.Progress
	seen := false
	err := d.follow(ctx, d.job, "train on two nodes", func(log []byte) bool {
		for line := range bytes.Lines(log) {
			p, ok := job.ParseProgress(line)
			if ok && !seen {
				first, seen = p, true
			}
			if ok {
				last = p
			}
		}
		return last.Batch >= killAfter
	})
	if err != nil {
		return "", err
	}
	if last.Loss >= first.Loss {
		return "", fmt.Errorf("the loss did not fall: %.3f at batch %d, %.3f at batch %d", first.Loss, first.Batch, last.Loss, last.Batch)
	}
	return fmt.Sprintf("loss %.3f at batch %d, %.3f at batch %d", first.Loss, first.Batch, last.Loss, last.Batch), nil
}

// pullPlug kills the node that runs the batch script.
func (d *demo) pullPlug(ctx context.Context) (string, error) {
	j, err := d.slurm.Job(ctx, d.job)
	if err != nil {
		return "", err
	}
	if err := nodes.PullPlug(ctx, d.anchor, j.BatchHost); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s is gone, with the batch script and a rank of job %d", j.BatchHost, d.job), nil
}

// resume waits until the job runs again, by itself.
func (d *demo) resume(ctx context.Context) (string, error) {
	resumed := ""
	err := d.follow(ctx, d.job, "go on from the last checkpoint", func(log []byte) bool {
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

func (d *demo) finish(ctx context.Context) (detail string, err error) {
	d.weights, err = d.jobEnd(ctx, d.job, "finish the training")
	return "weights " + short(d.weights), err
}

// jobEnd waits for a job's end and returns the digest of its weights.
func (d *demo) jobEnd(ctx context.Context, id int, step string) (string, error) {
	weights := ""
	err := d.follow(ctx, id, step, func(log []byte) bool {
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
func (d *demo) compare(ctx context.Context) (string, error) {
	id, err := d.slurm.Submit(ctx, slurm.SubmitOptions{Script: script, Dir: d.Dir, Env: []string{"MODEL=" + reference},
		Flags: []string{"--job-name=" + reference, "--output=/fsx3/" + reference + "/logs/%j.out", "--error=/fsx3/" + reference + "/logs/%j.out"}})
	if err != nil {
		return "", err
	}
	weights, err := d.jobEnd(ctx, id, "train again, undisturbed, and compare")
	if err != nil {
		return "", err
	}
	if weights != d.weights {
		return "", fmt.Errorf("the weights differ: %s after the loss of a node, %s without", d.weights, weights)
	}
	return "bit-identical weights " + short(weights), nil
}

// readBack waits until all is exported, reads it back and compares.
func (d *demo) readBack(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("the export did not end within 2m"))
	defer cancel()
	control := local.Controller(d.layout)
	if err := control.Flush(ctx); err != nil {
		return "", err
	}
	all, err := control.Verify(ctx)
	if err != nil {
		return "", err
	}
	matched := 0
	for _, v := range all {
		if len(v.Missing)+len(v.Different) > 0 {
			return "", fmt.Errorf("s3://%s is not like %s: missing %v, different %v", v.Bucket, v.Path, v.Missing, v.Different)
		}
		matched += v.Matched
	}
	if matched == 0 {
		return "", errors.New("nothing was exported")
	}
	return fmt.Sprintf("%d files in %d buckets have the checksums of their originals", matched, len(all)), nil
}

// idle waits until Slurm has sent every node away.
func (d *demo) idle(ctx context.Context) (string, error) {
	wait := time.Duration(d.files.cluster.Scheduling.Slurm.ScaledownIdleMinutes) * time.Minute
	ctx, cancel := context.WithTimeoutCause(ctx, wait+time.Minute, errors.New("there still are nodes a minute after their idle time"))
	defer cancel()
	began := time.Now()
	for {
		nodes, err := d.slurm.Nodes(ctx)
		if err != nil {
			return "", err
		}
		var up []string
		for _, n := range nodes {
			if !n.State.PoweredDown() {
				up = append(up, n.Name)
			}
		}
		if len(up) == 0 {
			return fmt.Sprintf("all %d nodes are idle~ after an idle time of %s", len(nodes), wait), nil
		}
		d.Report.Waiting("let idle nodes go", strconv.Itoa(len(up))+" nodes that are still up", time.Since(began))
		if err := pause.For(ctx, time.Second); err != nil {
			return "", err
		}
	}
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
func (d *demo) follow(ctx context.Context, id int, step string, done func(log []byte) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no end of it within %s", patience))
	defer cancel()
	began := time.Now()
	for {
		j, err := d.slurm.Job(ctx, id)
		if err != nil {
			return err
		}
		path := d.hostPath(j.StdOut)
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
		d.Report.Waiting(step, fmt.Sprintf("job %d, %s: %s", id, strings.ToLower(j.State), lastOf(log)), time.Since(began))
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

// hostPath is where a path of the cluster's shared storage lies on this machine.
func (d *demo) hostPath(path string) string {
	for _, s := range d.files.cluster.SharedStorage {
		if rest, ok := strings.CutPrefix(path, s.MountDir+"/"); ok {
			return local.StorageDir(d.layout, d.files.cluster, s.MountDir) + "/" + rest
		}
	}
	return path
}

func short(digest string) string { return digest[:min(16, len(digest))] }
