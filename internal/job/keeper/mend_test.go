package keeper

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job/errand"
	"github.com/muster-hpc/muster/internal/slurm"
)

// tornWorld is one in which a checkpoint was torn when the job failed.
func tornWorld(t *testing.T) *world {
	w := newWorld(t)
	w.saves(10)
	w.torn = []errand.Repair{{Path: "/fsx/ck/checkpoint-15", Now: "/fsx/ck/torn.checkpoint.15.part", Why: "model.pt is cut off"}}
	return w
}

// toldOf are the reasons of events of a kind.
func (w *world) toldOf(kind string) (all []string) {
	for _, e := range w.events {
		if e.Kind == kind {
			all = append(all, e.Reason+"|"+e.Hint)
		}
	}
	return all
}

// What moves aside is told, and kept in the job's record, wherever the keeper is killed.
func TestTellsWhatMovesAside(t *testing.T) {
	for deadly := 1; ; deadly++ {
		w := tornWorld(t)
		w.rounds(2)
		w.fails("FAILED", 1)
		w.calls, w.deadly = 0, deadly
		w.rounds(8)
		over := w.calls < deadly
		w.deadly = 0
		k := w.rounds(1)
		want := []client.JobAside{{Path: "/fsx/ck/checkpoint-15", Now: "/fsx/ck/torn.checkpoint.15.part", Why: "model.pt is cut off"}}
		if r := k.Report(7); len(r.Rounds) != 1 || !slices.Equal(r.Rounds[0].Aside, want) || w.job.State != "RUNNING" {
			t.Fatalf("killed at call %d: %s, %+v", deadly, w.job.State, r.Rounds)
		}
		said := "job 7: /fsx/ck/checkpoint-15: model.pt is cut off; now /fsx/ck/torn.checkpoint.15.part|" +
			"`mv -nT /fsx/ck/torn.checkpoint.15.part /fsx/ck/checkpoint-15` brings it back"
		if told := w.toldOf("job checkpoint"); !slices.Contains(told, said) {
			t.Fatalf("killed at call %d: %q", deadly, told)
		}
		if over {
			return
		}
	}
}

// A job that has checkpoints, and none that is whole, does not begin anew by itself. Who mends one
// lets it go, and it is kept as before.
func TestStopsWithoutAnyWhole(t *testing.T) {
	for deadly := 1; ; deadly++ {
		w := tornWorld(t)
		w.stuck = "none of its checkpoints is whole"
		w.rounds(2)
		w.fails("FAILED", 1)
		w.calls, w.deadly = 0, deadly
		w.rounds(8)
		over := w.calls < deadly
		w.deadly = 0
		k := w.rounds(1)
		if !held(w.job) || w.job.Restarts != 1 || len(w.moved) > 0 {
			t.Fatalf("killed at call %d: %s (%s), moved %v", deadly, w.job.State, w.job.Reason, w.moved)
		}
		r := k.Report(7)
		if len(r.Rounds) != 1 || r.Rounds[0].Action != actionStop || r.Rounds[0].Because != "none of its checkpoints is whole (checkpoint-15: model.pt is cut off)" {
			t.Fatalf("killed at call %d: %+v", deadly, r.Rounds)
		}
		told := w.toldOf("job stopped")
		if len(told) == 0 && !over { // it was killed between the record and the words
			continue
		}
		if len(told) != 1 || !strings.Contains(told[0], "job 7 is not started again: none of its checkpoints is whole") || !strings.Contains(told[0], "`scontrol release 7` lets it go") {
			t.Fatalf("killed at call %d: %q", deadly, told)
		}
		w.stuck, w.torn = "", nil
		w.job.Reason = "Priority"
		w.schedule()
		w.rounds(2)
		w.fails("FAILED", 1)
		if k = w.rounds(6); w.job.State != "RUNNING" || w.job.Restarts != 2 || len(k.Report(7).Rounds) != 2 {
			t.Fatalf("killed at call %d: it is %s after another run: %+v", deadly, w.job.State, k.Report(7))
		}
		if over {
			return
		}
	}
}

// Who wants it to go on whatever the cause is has it go on.
func TestGoesOnWithoutAnyWhole(t *testing.T) {
	w := tornWorld(t)
	w.script = strings.Replace(asking, "--restarts=5", "--on-failure=requeue", 1)
	w.stuck = "none of its checkpoints is whole"
	w.rounds(2)
	w.fails("FAILED", 1)
	if w.rounds(6); w.job.State != "RUNNING" || len(w.moved) > 0 || len(w.toldOf("job checkpoint")) != 1 {
		t.Errorf("it is %s, moved %v: %+v", w.job.State, w.moved, w.events)
	}
}

// A program may write for as long as it is given to end: the time after which something is another's
// is that of the run's last step.
func TestMendsUpToTheLastStep(t *testing.T) {
	w := tornWorld(t)
	w.rounds(2)
	w.fails("FAILED", 1)
	late := w.job.EndTime.Add(30 * time.Second)
	w.steps = append(w.steps, slurm.Step{Name: "0", State: "CANCELLED", Start: w.job.StartTime, End: late})
	w.rounds(6)
	if !w.ended.Equal(late.Add(endSlack)) {
		t.Errorf("got %s, want %s", w.ended, late.Add(endSlack))
	}
}

// A job with a range of nodes may get fewer of them: its checkpoints have fewer files from then on.
func TestMendsKnowingOfFewerNodes(t *testing.T) {
	w := tornWorld(t)
	fails := func(nodes string) time.Time {
		w.job.NodeList = nodes
		w.rounds(2)
		at := w.job.StartTime
		w.fails("FAILED", 1)
		w.rounds(6)
		return at
	}
	if fails("q-dy-r-[1-2]"); !w.shrunk.IsZero() {
		t.Errorf("fewer nodes since %s before a second run", w.shrunk)
	}
	second := fails("q-dy-r-1")
	if !w.shrunk.Equal(second) {
		t.Errorf("fewer nodes since %s, want %s", w.shrunk, second)
	}
	if fails("q-dy-r-2"); !w.shrunk.Equal(second) {
		t.Errorf("with as few nodes again: fewer nodes since %s, want %s", w.shrunk, second)
	}
}

// Files that do not answer are asked again for a while, and then it is told what may have moved.
func TestCannotMend(t *testing.T) {
	w := tornWorld(t)
	w.unwell = errors.New("the file system does not answer")
	k := w.rounds(2)
	w.fails("FAILED", 1)
	for range 12 {
		_ = k.round(t.Context())
		w.schedule()
	}
	told := w.toldOf("job checkpoint")
	if w.job.State != "RUNNING" || w.repairs != mostTries || len(told) != 1 || !strings.Contains(told[0], "torn.checkpoint.15.part now, which could not be found out: the file system does not answer") {
		t.Errorf("it is %s, tried %d times: %q", w.job.State, w.repairs, told)
	}
}

// A run that Slurm queued again by itself could start at any moment: before something is moved, or a node kept from it, the job
// is held, and let go then. Whoever held it before lets it go himself.
func TestHoldsWhatSlurmQueued(t *testing.T) {
	for name, row := range map[string]struct {
		torn, up   bool
		reason     string
		holds      int
		stillWaits bool
	}{
		"torn":             {true, false, "BeginTime", 1, false},
		"at_fault":         {false, true, "BeginTime", 1, false},
		"nothing_to_do":    {false, false, "BeginTime", 0, false},
		"held_by_its_user": {true, true, "JobHeldUser", 0, true},
		"both":             {true, true, "Priority", 1, false},
		"held_by_another":  {false, false, "JobHeldAdmin", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			for deadly := 0; ; deadly++ {
				w := newWorld(t)
				if row.torn {
					w.torn = tornWorld(t).torn
				}
				w.rounds(2)
				w.loses(1)
				w.job.Reason = row.reason
				if !row.up {
					w.nodes[1].State = slurm.ParseNodeState("DOWN+CLOUD")
				}
				k := w.keeper()
				w.calls, w.deadly = 0, deadly
				for i := range 10 {
					if !w.round(k) {
						k = w.keeper()
					}
					if i > 4 || held(w.job) {
						w.schedule()
					}
				}
				over := w.calls < deadly
				w.deadly = 0
				if w.holds < row.holds || w.holds > row.holds*2 || held(w.job) != row.stillWaits || (w.job.State == "RUNNING") == row.stillWaits || len(w.moved) != len(w.torn) {
					t.Fatalf("killed at call %d: held %d times, now %s (%s), moved %v", deadly, w.holds, w.job.State, w.job.Reason, w.moved)
				}
				if over || deadly == 0 && t.Failed() {
					return
				}
			}
		})
	}
}

// Slurm may be quicker than the hold: then what is torn stays, since it may be in use, and that is told.
func TestSlurmIsQuicker(t *testing.T) {
	w := tornWorld(t)
	w.rounds(2)
	w.loses(1)
	k := w.keeper()
	for i := 0; w.holds == 0 && i < 5; i++ {
		w.round(k)
	}
	w.job.Reason = "None"
	w.schedule()
	for range 3 {
		w.round(k)
	}
	told := w.toldOf("job checkpoint")
	if len(w.moved) > 0 || len(told) != 1 || !strings.Contains(told[0], "torn checkpoints stay, such as /fsx/ck/checkpoint-15: Slurm started it again") || k.records[7].Act != nil {
		t.Errorf("moved %v, told %q", w.moved, told)
	}
}
