package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/slurm"
)

// Of a job with thousands of runs the last ones are kept, and what counts of the others: its
// restarts end where they would have.
func TestForgetsOldRounds(t *testing.T) {
	classes := []cause.Class{cause.NodeLost, cause.Exception, cause.Preempted, cause.Requeued, cause.TimeLimit}
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		p := policy.Default()
		p.Restarts, p.Checkpoints = random.IntN(400), []string{"/fsx/ck"}
		job := slurm.Job{State: "FAILED"}
		r := &record{Policy: p, job: job, Run: &run{}}
		all := &record{Policy: p, job: job, Run: &run{}}
		for i := range roundsKept + random.IntN(300) {
			round := client.JobRound{Class: string(classes[random.IntN(len(classes))]), Action: actionHere, Checkpoint: int64(10 * (i - random.IntN(3)))}
			if random.IntN(100) == 0 {
				round.Action = actionStop
			}
			r.over(round)
			all.Rounds = append(all.Rounds, round)
		}
		o := outcome{state: "NODE_FAIL", own: slurm.Step{State: "NODE_FAIL"}}
		got, want := cause.Judge(r.evidence(o)), cause.Judge(all.evidence(o))
		if got.Action != want.Action || got.Why != want.Why || r.report(time.Now()).Restarts != all.report(time.Now()).Restarts {
			t.Fatalf("seed %d: %s as %s, want %s as %s", seed, got.Action, got.Why, want.Action, want.Why)
		}
		if len(r.Rounds) != roundsKept || r.Forgotten.Runs != len(all.Rounds)-roundsKept {
			t.Fatalf("%d rounds are kept, %d forgotten", len(r.Rounds), r.Forgotten.Runs)
		}
	}
}

// What the scheduler does to a job costs it none of its restarts, however often.
func TestGivesWayForFree(t *testing.T) {
	for _, state := range []string{"PREEMPTED", "REQUEUED"} {
		t.Run(state, func(t *testing.T) {
			w := newWorld(t)
			w.script = strings.Replace(asking, "--restarts=5", "--restarts=1", 1)
			k := w.rounds(2)
			back := func() {
				for i := 0; w.job.State != "RUNNING" || k.records[7].Act != nil; i++ {
					if w.round(k); i > 20 {
						t.Fatalf("it is %s (%s)", w.job.State, w.job.Reason)
					}
					w.schedule()
				}
				w.round(k)
			}
			for range roundsKept + 5 {
				w.steps = []slurm.Step{{State: state, Start: w.job.StartTime, End: w.job.StartTime.Add(30 * time.Second), NodeList: w.job.NodeList}}
				w.job.State, w.job.Restarts, w.job.Reason, w.job.NodeList = "PENDING", w.job.Restarts+1, "BeginTime", ""
				w.round(k)
				back()
			}
			w.saves(10)
			w.fails("FAILED", 1)
			back() // its only restart
			if r := k.Report(7); r.Restarts != roundsKept+6 || w.requeues != 1 {
				t.Fatalf("%d restarts, %d by the keeper", r.Restarts, w.requeues)
			}
			w.saves(20)
			w.fails("FAILED", 1)
			for range 5 {
				w.round(k)
			}
			if told := w.toldOf("job stopped"); len(told) != 1 || !strings.Contains(told[0], "it was started again once, and --restarts=1 allows no more") {
				t.Errorf("it is %s: %q", w.job.State, told)
			}
		})
	}
}

// A run with spares has a row for each set of nodes that it had: the last one says how it ended.
func TestRunThatWasResized(t *testing.T) {
	w := newWorld(t)
	w.rounds(2)
	middle, end := w.job.StartTime.Add(30*time.Second), w.job.StartTime.Add(time.Minute)
	w.steps = []slurm.Step{
		{State: "RESIZING", Start: w.job.StartTime, End: middle, NodeList: "q-dy-r-[1-3]"},
		{Name: "1", State: "RESIZING", Start: w.job.StartTime, End: middle},
		{State: "REQUEUED", Start: middle, End: end, NodeList: "q-dy-r-[1-2]"},
		{Name: "3", State: "CANCELLED", Start: middle, End: end},
	}
	w.job.State, w.job.Restarts, w.job.Reason, w.job.NodeList = "PENDING", 1, "BeginTime", ""
	k := w.rounds(4)
	if r := k.Report(7); len(r.Rounds) != 1 || r.Rounds[0].Class != string(cause.Requeued) || r.Rounds[0].State != "REQUEUED" || !r.Rounds[0].End.Equal(end) {
		t.Errorf("got %+v", r.Rounds)
	}
}

// A record that cannot be used is set aside, and that is told.
func TestTellsOfDamagedRecords(t *testing.T) {
	w := newWorld(t)
	w.rounds(2)
	path := filepath.Join(w.state, "8.json")
	if err := os.WriteFile(path, []byte(`{"id":8,"logs":[{"path":"x","offset":-1}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w.events = nil
	w.rounds(1)
	told := w.toldOf("job record")
	if len(told) != 1 || !strings.Contains(told[0], "what was known of job 8 cannot be used") || !strings.Contains(told[0], path+".damaged|") {
		t.Errorf("told %q", told)
	}
	if text, err := os.ReadFile(path + ".damaged"); err != nil || !strings.Contains(string(text), `"offset":-1`) {
		t.Errorf("%q, %v", text, err)
	}
	w.events = nil
	if w.rounds(1); len(w.toldOf("job record")) != 0 {
		t.Error("it is told again")
	}
}

// Whatever stands in a record, the keeper starts, and keeps the other jobs.
func TestAnythingInARecord(t *testing.T) {
	w := newWorld(t)
	w.prints(1, 20)
	w.saves(10)
	w.rounds(2)
	w.fails("FAILED", 1)
	w.rounds(5)
	w.prints(21, 25)
	w.rounds(2)
	text, err := os.ReadFile(filepath.Join(w.state, "7.json"))
	if err != nil {
		t.Fatal(err)
	}
	var whole any
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	whole.(map[string]any)["id"] = 6
	other := w.job
	other.ID, other.StdOut, other.StdErr = 6, "/fsx/6.out", "/fsx/6.out"
	w.logs["/fsx/6.out"], w.others = w.logs["/fsx/7.out"], []slurm.Job{other}
	tried := 0
	for _, with := range []any{-1, 1e18, nil, "x", []any{}} {
		eachChange(whole, with, func() {
			changed, err := json.Marshal(whole)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(w.state, "6.json"), changed, 0o600); err != nil {
				t.Fatal(err)
			}
			k := w.keeper()
			_ = k.round(t.Context())
			if r := k.Report(7); r == nil || r.Phase != "training" {
				t.Fatalf("got %+v with\n%s", r, changed)
			}
			tried++
		})
	}
	if tried < 200 {
		t.Errorf("only %d were tried", tried)
	}
}

// eachChange has each value below one be another for a while, those of lists up to the second.
func eachChange(in, with any, try func()) {
	switch v := in.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key == "id" {
				continue
			}
			was := v[key]
			v[key] = with
			try()
			v[key] = was
			eachChange(was, with, try)
		}
	case []any:
		for i := range v[:min(len(v), 1)] {
			was := v[i]
			v[i] = with
			try()
			v[i] = was
			eachChange(was, with, try)
		}
	}
}

// A job whose script cannot be read has no other wait, and is not asked for all the time.
func TestScriptThatCannotBeRead(t *testing.T) {
	for name, why := range map[string]error{"unreachable": slurm.ErrUnreachable, "odd": errors.New("scontrol: some error")} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for i := range scriptsAtOnce + 5 {
				other := w.job
				other.ID = 100 + i
				w.others = append(w.others, other)
			}
			w.others = append(w.others, w.job)
			w.job, w.others[0] = w.others[0], w.job // the bad ones come first
			w.scripts = func(id int) error {
				if id >= 100 {
					return why
				}
				return nil
			}
			k := w.keeper()
			now := time.Now()
			for minute := range 60 {
				k.lock.Lock()
				err := k.find(t.Context(), append([]slurm.Job{w.job}, w.others...), now.Add(time.Duration(minute)*time.Minute))
				k.lock.Unlock()
				if minute == 0 && !errors.Is(err, why) {
					t.Errorf("got %v", err)
				}
			}
			if k.records[7] == nil {
				t.Error("it is not kept")
			}
			if n := w.reads[100]; n < 2 || n > 20 {
				t.Errorf("a script was read %d times in an hour", n)
			}
			if told := w.toldOf("job left"); (len(told) > 0) != (name == "odd") {
				t.Errorf("told %q", told)
			}
		})
	}
}

// A job that cannot be written down has no other wait.
func TestRecordThatCannotBeWritten(t *testing.T) {
	w := newWorld(t)
	other := w.job
	other.ID = 6
	w.others = []slurm.Job{other}
	if err := os.MkdirAll(filepath.Join(w.state, "6.json.damaged", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(w.state, "6.json", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.prints(1, 3)
	k := w.keeper()
	if err := k.round(t.Context()); err == nil || !strings.Contains(err.Error(), "write down what is known of job 6") {
		t.Errorf("got %v", err)
	}
	if r := k.Report(7); r == nil || len(r.Samples) != 3 {
		t.Errorf("got %+v", r)
	}
	if told := fmt.Sprint(w.toldOf("job record")); !strings.Contains(told, "it stays there: ") {
		t.Errorf("told %s", told)
	}
}
