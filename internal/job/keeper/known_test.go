package keeper

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
)

// What other users write may hide a job's row. It is kept all the same, as it is asked for alone; where nobody answers that
// either, nothing is decided of it, and it is forgotten only when Slurm says so.
func TestHidden(t *testing.T) {
	hidden := []slurm.Problem{{Text: "job 8 comes twice"}, {Text: "odd", Job: 7, ArrayJob: 7}}
	w := newWorld(t)
	k := w.rounds(1)
	w.odd, w.alones = hidden, errors.New("it can be read in two ways")
	for range 3 {
		w.round(k)
	}
	if r := k.records[7]; !r.active() || r.Run == nil {
		t.Fatalf("it is let go though it is there: %+v", w.events)
	}
	w.alones = nil
	w.fails("FAILED", 1)
	for range 6 {
		w.round(k)
		w.schedule()
	}
	if r := k.records[7]; !r.active() || len(r.Rounds) != 1 || w.requeues != 1 {
		t.Errorf("it is not kept while it is hidden: %+v, %+v", k.records[7], w.events)
	}
	w.job.ID, w.job.Name = 9, "another"
	w.round(k)
	if r := k.records[7]; r.active() {
		t.Errorf("Slurm does not know it, and it is still kept: %+v", w.events)
	}
}

// A job that is hidden from the first on is found, and one that many others hide is not forgotten for them.
func TestHiddenFromTheFirst(t *testing.T) {
	w := newWorld(t)
	w.odd = []slurm.Problem{{Job: 7, ArrayJob: 7}}
	k := w.rounds(1)
	if k.records[7] == nil {
		t.Fatal("it is not found")
	}
	for id := range 3 * askedAlone {
		w.odd = append(w.odd, slurm.Problem{Job: 100 + id, ArrayJob: 100 + id})
	}
	w.alone = 0
	w.round(k)
	if w.alone != askedAlone || !k.records[7].active() {
		t.Errorf("%d jobs were asked for, and it is kept: %t", w.alone, k.records[7].active())
	}
}

// The accounting may not answer yet when a job is seen that Slurm has queued again: its last run is judged when it does. It is
// asked for some minutes, and then it is told.
func TestMissedRun(t *testing.T) {
	for name, answersAt := range map[string]time.Duration{"soon": time.Minute, "never": 10 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.loses(1)
			w.job.Reason, w.closed = "JobHeldUser", errors.New("connection refused")
			k := w.keeper()
			asked, began := 0, time.Now()
			for after := time.Duration(0); after < time.Hour; after += 5 * time.Second {
				if after >= answersAt {
					w.closed = nil
				}
				before := w.calls
				k.lock.Lock()
				if r := k.records[7]; r != nil && r.Run == nil {
					r.job = w.job
					_ = k.missed(t.Context(), r, began.Add(after))
				}
				k.lock.Unlock()
				if w.calls > before {
					asked++
				}
				if after == 0 {
					_ = k.round(t.Context())
				}
			}
			r := k.records[7]
			told, e := w.told("job run ended")
			if answersAt < time.Hour && (r.Run == nil && len(r.Rounds) == 0 || told > 0) {
				t.Errorf("its run is not judged: %+v, %+v", r, w.events)
			}
			if answersAt > time.Hour && (told != 1 || !strings.Contains(e.Reason, "connection refused") || asked > 2*scriptTries) {
				t.Errorf("told %d times, asked %d times: %+v", told, asked, w.events)
			}
		})
	}
}
