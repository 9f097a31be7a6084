package keeper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/job/errand"
	"github.com/muster-hpc/muster/internal/slurm"
)

func (w *world) prints(from, to int) {
	for i := from; i <= to; i++ {
		w.logs["/fsx/7.out"] += fmt.Sprintf("0: Batch %d Loss: %d.5, Speed: 2.0 samples/sec, lr: 0.001\n", i, 9-i%8)
	}
}

func (w *world) saves(step int64) {
	w.found = append([]errand.Checkpoint{{Dir: fmt.Sprintf("/fsx/ck/checkpoint-%d", step), Step: step, Whole: true}}, w.found...)
}

func TestFollows(t *testing.T) {
	w := newWorld(t)
	w.prints(1, 20)
	w.saves(10)
	k := w.rounds(2)
	r := k.Report(7)
	if r == nil || r.Phase != "training" || len(r.Samples) != 20 || *r.Samples[19].Loss != 5.5 || r.Checkpoint.Step != 10 {
		t.Fatalf("got %+v", r)
	}
	w.prints(21, 2000)
	k = w.rounds(2) // another keeper goes on where the first one was
	r = k.Report(7)
	if n := len(r.Samples); n > samplesKept || r.Samples[n-1].Step != 2000 || r.Samples[0].Step != 1 {
		t.Errorf("of 2000 lines %d are kept, the last is of step %d", n, r.Samples[n-1].Step)
	}
}

// Of directories of checkpoints of which one cannot be read the others are known, and it is said; where
// none can, what was seen last stays.
func TestCheckpointsUnread(t *testing.T) {
	w := newWorld(t)
	w.saves(10)
	w.unfound = errors.New("look for checkpoints in /fsx/other: permission denied")
	k := w.rounds(2)
	if r := k.Report(7); r.Checkpoint == nil || r.Checkpoint.Step != 10 || !strings.Contains(strings.Join(r.Blind, "\n"), "/fsx/other") || k.records[7].unseen == "" {
		t.Fatalf("got %+v", r)
	}
	w.found = nil
	if r := w.rounds(2).Report(7); r.Checkpoint == nil || r.Checkpoint.Step != 10 {
		t.Errorf("got %+v", r)
	}
}

// A script tells of some of its problems, in few words.
func TestProblemsOfAScript(t *testing.T) {
	for name, row := range map[string]struct {
		options string
		events  int
		last    string
	}{
		"one":             {" --restart=3", 1, "--restart is no option"},
		"many_dirs":       {strings.Repeat(" --checkpoints=/x", 5000), 1, "there are more than 1000 options"},
		"many_other_dirs": {dirs(900), 1, "is one directory too many"},
		"ten":             {strings.Repeat(" --hang=soon", 10), 10, "is neither"},
		"eleven":          {strings.Repeat(" --hang=soon", 11), 11, "and 1 more"},
		"many":            {strings.Repeat(" --hang=soon", 5000), 11, "and 991 more"},
		"long":            {" --checkpoints=/" + strings.Repeat("é", 70_000), 1, "ééé..."},
		"long_option":     {" --" + strings.Repeat("x", 70_000), 1, "xxx..."},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.script = "#!/bin/sh\n#MUSTER" + row.options + "\nsrun train\n"
			w.rounds(2)
			var told []Event
			for _, e := range w.events {
				if e.Kind == "job option" {
					told = append(told, e)
				}
				if n := len([]rune(e.Reason)) + len([]rune(e.Hint)); n > 2*mostProblem+100 {
					t.Errorf("an event has %d characters", n)
				}
			}
			if len(told) != row.events || !strings.Contains(told[len(told)-1].Reason, row.last) || row.events > mostProblems && !strings.Contains(told[mostProblems].Hint, "muster check") {
				t.Errorf("%d events: %.2000v", len(told), told)
			}
		})
	}
}

// dirs are options with that many directories.
func dirs(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " --checkpoints=/x/%d", i)
	}
	return b.String()
}

// What a job is not asked for, and files of others, stay as they are.
func TestLeavesOthersAlone(t *testing.T) {
	for name, script := range map[string]string{"no_line": "#!/bin/sh\nsrun train\n", "below_a_command": "#!/bin/sh\nsrun train\n#MUSTER --restarts=3\n", "no_script": ""} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.script = script
			w.rounds(1)
			w.fails("FAILED", 1)
			if k := w.rounds(5); k.Report(7) != nil || w.requeues > 0 || len(w.events) > 0 {
				t.Errorf("got %v, %d requeues", w.events, w.requeues)
			}
		})
	}
}

func TestNodeLost(t *testing.T) {
	w := newWorld(t)
	w.owners = []int{0, 1000}
	w.rounds(2)
	w.fails("FAILED", 1)
	w.prints(1, 1)
	w.logs["/fsx/7.out"] += "1: [  120.3] NVRM: Xid (PCI:0000:38:00): 79, pid=12, GPU has fallen off the bus.\n"
	k := w.rounds(6)
	if w.requeues != 1 || w.job.State != "RUNNING" || w.job.ExcNodeList != "q-dy-r-2" || strings.Join(w.drained, " ") != "q-dy-r-2" || w.mends == 0 {
		t.Errorf("%d requeues, %s, excluded %q, drained %v", w.requeues, w.job.State, w.job.ExcNodeList, w.drained)
	}
	if r := k.Report(7); r.Restarts != 1 || len(r.Rounds) != 1 || r.Rounds[0].AtFault != "q-dy-r-2" || r.Rounds[0].Action != actionElsewhere {
		t.Errorf("got %+v", r)
	}
}

// A node that was at fault is left out until it has booted anew: then it is another one.
func TestNodeReplaced(t *testing.T) {
	for want, boots := range map[string]time.Time{"q-dy-r-[2-3]": start.Add(-time.Hour), "q-dy-r-3": time.Now().Add(time.Minute)} {
		w := newWorld(t)
		w.rounds(2)
		w.loses(1)
		w.rounds(4)
		if w.job.State != "RUNNING" || w.job.ExcNodeList != "q-dy-r-2" {
			t.Fatalf("%s, excluded %q", w.job.State, w.job.ExcNodeList)
		}
		w.nodes[1].BootTime, w.nodes[1].Reason = boots, ""
		w.loses(2)
		w.rounds(4)
		if w.job.State != "RUNNING" || w.job.ExcNodeList != want {
			t.Errorf("booted %s: %s, excluded %q, want %q", boots, w.job.State, w.job.ExcNodeList, want)
		}
	}
}

// Exclusions that are done twice, as by a keeper that was killed, are the same where there is just one node to spare.
func TestExcludesTwice(t *testing.T) {
	w := newWorld(t)
	w.nodes = w.nodes[:3]
	r := &record{job: w.job, Act: &act{Decided: start, Faults: []cause.Fault{{Node: "q-dy-r-2"}}}}
	for range 2 {
		r.exclude(w.nodes)
		r.job.ExcNodeList = slurm.Compress(r.Excluded)
		if r.job.ExcNodeList != "q-dy-r-2" {
			t.Fatalf("excluded %q", r.job.ExcNodeList)
		}
	}
}

// Slurm queues a job again by itself when a node dies: then only the rest is to be done.
func TestSlurmRequeues(t *testing.T) {
	w := newWorld(t)
	k := w.rounds(2)
	w.loses(1)
	w.round(k)
	w.round(k)
	w.schedule()
	w.round(k)
	if w.requeues != 0 || w.job.ExcNodeList != "q-dy-r-2" || w.job.State != "RUNNING" || w.job.Restarts != 1 {
		t.Errorf("%d requeues, %s, excluded %q", w.requeues, w.job.State, w.job.ExcNodeList)
	}
	if r := k.Report(7); r.Restarts != 1 || r.Rounds[0].By != "slurm" {
		t.Errorf("got %+v", r)
	}
}

// A job that lost its node before the keeper had ever seen it is none the worse off.
func TestSeenTooLate(t *testing.T) {
	w := newWorld(t)
	w.loses(1)
	k := w.keeper()
	for range 4 {
		w.round(k)
	}
	if r := k.Report(7); r == nil || len(r.Rounds) != 1 || r.Rounds[0].AtFault != "q-dy-r-2" || w.job.ExcNodeList != "q-dy-r-2" || w.mends == 0 {
		t.Errorf("got %+v, excluded %q", r, w.job.ExcNodeList)
	}
}

// A run that writes the same anew into the same file is read anew.
func TestSameLogAgain(t *testing.T) {
	w := newWorld(t)
	w.logs["/fsx/7.out"] = "some\nlines\n"
	w.rounds(2)
	w.fails("FAILED", 1)
	w.rounds(5)
	if w.requeues != 1 || w.job.State != "RUNNING" {
		t.Fatalf("%d requeues, %s", w.requeues, w.job.State)
	}
	k := w.rounds(2)
	if l := k.records[7].Logs[0]; l.Offset != 11 || l.Restarts != 1 {
		t.Errorf("got %+v", l)
	}
}

// A keeper may be killed before and after everything that it asks and does: the job goes on, once,
// and nothing of it is lost.
func TestKilledAtEachStep(t *testing.T) {
	for name, end := range map[string]func(*world){
		"failed": func(w *world) {
			w.nodes[1].Reason, w.nodes[1].ReasonTime = "muster: the instance ended", start.Add(time.Minute)
			w.fails("FAILED", 1)
		},
		"failed_without_cause": func(w *world) { w.fails("FAILED", 1) },
		"lost_a_node":          func(w *world) { w.loses(1) },
	} {
		t.Run(name, func(t *testing.T) {
			for deadly := 1; ; deadly++ {
				w := newWorld(t)
				w.saves(10)
				w.rounds(2)
				end(w)
				w.calls, w.deadly = 0, deadly
				k := w.keeper()
				for range 8 { // Slurm is slower than the keeper
					if !w.round(k) {
						k = w.keeper()
					}
				}
				w.schedule()
				w.round(k)
				over := w.calls < deadly
				if w.job.State != "RUNNING" || w.job.Restarts != 1 || w.requeues > 1 {
					t.Fatalf("killed at call %d: %s (%s), %d restarts", deadly, w.job.State, w.job.Reason, w.job.Restarts)
				}
				if r := k.Report(7); r == nil || len(r.Rounds) != 1 || r.Restarts != 1 || len(w.drained) > 1 || r.Rounds[0].AtFault != w.job.ExcNodeList {
					t.Fatalf("killed at call %d: got %+v, drained %v, excluded %q", deadly, r, w.drained, w.job.ExcNodeList)
				}
				if over {
					return
				}
			}
		})
	}
}

// Three runs in a row that leave no new checkpoint are enough.
func TestStopsWithoutProgress(t *testing.T) {
	w := newWorld(t)
	w.saves(10)
	w.rounds(2)
	for range 6 {
		if w.job.State == "RUNNING" {
			w.fails("FAILED", 1)
		}
		w.rounds(5)
	}
	if w.requeues != 3 || w.job.State != "FAILED" {
		t.Errorf("it was queued again %d times, and is %s", w.requeues, w.job.State)
	}
	if last := w.events[len(w.events)-1]; last.Kind != "job stopped" || !strings.Contains(last.Reason, "3 runs in a row made no new checkpoint") {
		t.Errorf("got %+v", last)
	}
}

// Where nobody knows of checkpoints, steps tell: a run that shows none has come nowhere.
func TestStopsWithoutSteps(t *testing.T) {
	for _, row := range []struct {
		name     string
		steps    int
		requeues int
		why      string
	}{
		{"none", 0, 2, "3 runs in a row showed no step"},
		{"the_same", 5, 3, "3 runs in a row came no further than step 5"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t)
			w.script = "#!/bin/bash\n#MUSTER --restarts=5\nsrun train\n"
			w.rounds(2)
			for range 6 {
				if w.job.State == "RUNNING" {
					w.prints(1, row.steps)
					w.rounds(1)
					w.fails("FAILED", 1)
				}
				w.rounds(5)
			}
			if w.requeues != row.requeues || w.job.State != "FAILED" {
				t.Errorf("it was queued again %d times, and is %s", w.requeues, w.job.State)
			}
			if last := w.events[len(w.events)-1]; last.Kind != "job stopped" || !strings.Contains(last.Reason, row.why) {
				t.Errorf("got %+v", last)
			}
		})
	}
}

// A record that is damaged is put aside, and stops no other.
func TestDamagedRecords(t *testing.T) {
	w := newWorld(t)
	w.rounds(2)
	for name, text := range map[string]string{"8.json": "{\"id\":8,", "9.json": "", "10.json": "{\"id\":7}", "x.json": "{}", ".7.json-1": "{"} {
		if err := os.WriteFile(filepath.Join(w.state, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(w.state, "11.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.prints(1, 5)
	k := w.rounds(1)
	if r := k.Report(7); r == nil || len(r.Samples) != 5 || len(k.Reports()) != 1 {
		t.Errorf("got %+v", k.Reports())
	}
	if left, _ := filepath.Glob(filepath.Join(w.state, ".*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestAdopt(t *testing.T) {
	w := newWorld(t)
	w.script = "#!/bin/sh\nsrun train\n"
	k := w.rounds(1)
	for _, row := range []struct {
		name        string
		job, caller int
		options     []string
		want        string
	}{
		{"anothers", 7, 1001, nil, client.ErrNotTheirs.Error()},
		{"unknown", 8, 1000, nil, "slurm knows no job 8"},
		{"odd_option", 7, 1000, []string{"--restarts=many"}, "restarts"},
		{"his_own", 7, 1000, []string{"--restarts=2"}, ""},
		{"by_root", 7, 0, []string{"--no-drain"}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := k.adopt(t.Context(), adoption{job: row.job, caller: row.caller, request: client.AdoptRequest{Options: row.options}})
			if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v", err)
			}
			if row.name == "anothers" && !errors.Is(err, client.ErrNotTheirs) {
				t.Error("it is not known for what it is")
			}
		})
	}
	if p := w.keeper().records[7].Policy; p.Restarts != 2 || !p.NoDrain {
		t.Errorf("got %+v", p)
	}
}
