package keeper

import (
	"strings"
	"testing"
	"time"
)

// A job that a service outside the cluster asked to wait waits, longer each time, and may come no further meanwhile; one that
// failed otherwise does not.
func TestWaitsForAServiceOutside(t *testing.T) {
	const traceback = "Traceback (most recent call last):\n  File \"/fsx/train.py\", line 1, in <module>\n"
	w := newWorld(t)
	end := func(text string) (before, after time.Time) {
		w.logs["/fsx/7.out"] += traceback + text
		w.fails("FAILED", 1)
		before = time.Now()
		w.rounds(6)
		return before, time.Now()
	}
	w.rounds(2)
	for i, wait := range []time.Duration{5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 40 * time.Minute, time.Hour} {
		before, after := end("huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: https://huggingface.co/x\n")
		if w.released.Before(before.Add(wait)) || w.released.After(after.Add(wait)) || w.job.Restarts != i+1 {
			t.Fatalf("after run %d it may start %s later, %d restarts: %+v", i+1, w.released.Sub(before), w.job.Restarts, w.events)
		}
	}
	if e := w.events[len(w.events)-1]; e.Kind != "job goes on" || !strings.Contains(e.Reason, "may answer in 60 minutes") || !strings.Contains(e.Hint, "HF_HUB_OFFLINE") {
		t.Errorf("got %+v", e)
	}
	if end("huggingface_hub.errors.GatedRepoError: 401 Client Error.\n"); w.job.Restarts != 5 {
		t.Errorf("a job that was refused was started again: %+v", w.events)
	}
	if e := w.events[len(w.events)-1]; e.Kind != "job stopped" || !strings.Contains(e.Hint, "HF_TOKEN") || !strings.Contains(e.Hint, "scontrol requeue") {
		t.Errorf("got %+v", e)
	}
}

func TestGoesOnAtOnce(t *testing.T) {
	w := newWorld(t)
	w.rounds(2)
	w.logs["/fsx/7.out"] += "Traceback (most recent call last):\n  File \"/fsx/train.py\", line 1, in <module>\nRuntimeError: x\n"
	w.fails("FAILED", 1)
	w.rounds(6)
	if w.job.Restarts != 1 || w.released.IsZero() || w.released.After(time.Now()) {
		t.Errorf("it may start at %s: %+v", w.released, w.events)
	}
}
