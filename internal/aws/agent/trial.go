package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// trialFile keeps how the last test job ended: a head node that starts again does not
// run it again.
const trialFile = "/var/lib/muster/trial"

// trialLook is how often a test job is looked at.
const trialLook = time.Second

// try runs the test job that was asked for, once, and puts into the status how it
// ended. It does not wait for that.
func (h *headNode) try(ctx context.Context) error {
	var wish manifest.Trial
	_, err := h.decode(ctx, manifest.TrialKey(h.Ticket.Cluster), &wish)
	if errors.Is(err, store.ErrNotFound) || err == nil && wish.ID == h.tried {
		return nil
	}
	if err != nil {
		return err
	}
	h.tried = wish.ID
	var before manifest.TrialResult
	if text, err := h.machine.Read(trialFile); err == nil && json.Unmarshal([]byte(text), &before) == nil && before.ID == wish.ID {
		h.status.change(func(s *manifest.HeadStatus) { s.Trial = &before })
		return nil
	}
	h.background.Go(func() { h.runTrial(ctx, wish) })
	return nil
}

func (h *headNode) runTrial(ctx context.Context, wish manifest.Trial) {
	began := time.Now()
	client := slurm.Client{Runner: slurm.Exec{Conf: h.slurm.Conf + "/slurm.conf"}}
	result, err := runTest(ctx, client, wish)
	if ctx.Err() != nil {
		return // the next agent runs it
	}
	result.ID, result.Seconds = wish.ID, time.Since(began).Seconds()
	if err != nil {
		result.Error = err.Error()
	}
	h.Log.Info("test job", "nodes", strings.Join(result.Nodes, ","), "busy", result.Busy, "error", result.Error)
	if text, err := json.Marshal(result); err == nil {
		if _, err := h.machine.Write(trialFile, string(text), 0o644, ""); err != nil {
			h.Log.Warn("the test job's end is not kept", "error", err)
		}
	}
	h.status.change(func(s *manifest.HeadStatus) { s.Trial = &result })
}

// runTest submits the job and waits for its end. One that does not end in time is taken
// back.
func runTest(ctx context.Context, client slurm.Client, wish manifest.Trial) (manifest.TrialResult, error) {
	var result manifest.TrialResult
	flags := []string{
		"--job-name=muster-test", "--partition=" + wish.Queue, "--nodes=" + strconv.Itoa(wish.Nodes), "--ntasks-per-node=1",
		"--time=2", "--output=/dev/null", "--no-requeue",
	}
	if wish.Constraint != "" {
		flags = append(flags, "--constraint="+wish.Constraint)
	}
	id, err := client.Submit(ctx, slurm.SubmitOptions{Flags: flags, Script: "--wrap=srun --quiet hostname", Dir: "/"})
	if err != nil {
		return result, err
	}
	limit := time.Now().Add(time.Duration(wish.LimitSeconds) * time.Second)
	for {
		job, err := client.Job(ctx, id)
		switch {
		case err != nil:
			return result, err
		case job.Ended():
			return ended(job, wish)
		case time.Now().After(limit):
			err := client.Cancel(ctx, strconv.Itoa(id))
			result.Busy = job.State == "PENDING" && (job.Reason == "Resources" || job.Reason == "Priority")
			if err != nil || result.Busy {
				return result, err
			}
			return result, fmt.Errorf("it was %s after %d s: %s", strings.ToLower(job.State), wish.LimitSeconds, cmp.Or(job.Reason, "no reason given"))
		}
		if err := pause.For(ctx, trialLook); err != nil {
			return result, err
		}
	}
}

// ended is how a test job went.
func ended(job slurm.Job, wish manifest.Trial) (manifest.TrialResult, error) {
	var result manifest.TrialResult
	var err error
	if result.Nodes, err = slurm.Expand(job.NodeList); err != nil {
		return result, err
	}
	switch {
	case job.State != "COMPLETED":
		return result, fmt.Errorf("it ended as %s with exit code %d on %s: %s", job.State, job.ExitCode.Code, cmp.Or(job.NodeList, "no node"), cmp.Or(job.Reason, "no reason given"))
	case len(result.Nodes) != wish.Nodes:
		return result, fmt.Errorf("it ran on %s instead of %d: %s", count.Of(len(result.Nodes), "node"), wish.Nodes, job.NodeList)
	}
	return result, nil
}
