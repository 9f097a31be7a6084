package keeper

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job/errand"
	"github.com/muster-hpc/muster/internal/job/policy"
	"github.com/muster-hpc/muster/internal/job/trainlog"
	"github.com/muster-hpc/muster/internal/slurm"
)

// The number of one task of each array is the array's, which has Slurm take it for all of its tasks.
func TestTaskOfAnArray(t *testing.T) {
	w := newWorld(t)
	w.job.ArrayJobID, w.job.ArrayTask = w.job.ID, "4"
	w.rounds(2)
	w.nodes[1].Reason, w.nodes[1].ReasonTime = "muster: the instance ended", time.Now()
	w.fails("FAILED", 1)
	if w.rounds(6); w.requeues != 1 || w.job.State != "RUNNING" || w.job.ExcNodeList != "q-dy-r-2" {
		t.Errorf("%d requeues, %s, excluded %q", w.requeues, w.job.State, w.job.ExcNodeList)
	}
}

// A piece of a log on which the reader fails ends no controller.
func TestFed(t *testing.T) {
	if _, wrong := fed(func(p []byte) trainlog.Found { return trainlog.Found{Samples: make([]trainlog.Sample, p[0])} }, nil); wrong == nil {
		t.Error("nothing was wrong")
	}
	if found, wrong := fed(func(p []byte) trainlog.Found { return trainlog.Found{Samples: make([]trainlog.Sample, p[0])} }, []byte{2}); wrong != nil || len(found.Samples) != 2 {
		t.Errorf("%v, %v", found, wrong)
	}
}

// What a log says of a node that is not the run's is not held against it.
func TestNamesAnothersNode(t *testing.T) {
	for name, nodes := range map[string]string{"on_its_own": "q-dy-r-1", "on_none": ""} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.job.NodeList = nodes
			w.rounds(2)
			w.logs["/fsx/7.out"] = "*** JOB 7 ON q-dy-r-3 UNCORRECTABLE MEMORY ERROR AT 2026-11-20T20:34:36 ***\n"
			w.fails("FAILED", 1)
			if w.rounds(6); slices.Contains(w.drained, "q-dy-r-3") || strings.Contains(w.job.ExcNodeList, "q-dy-r-3") {
				t.Errorf("drained %q, excluded %q", w.drained, w.job.ExcNodeList)
			}
		})
	}
}

// Whoever says so: no more than some nodes are drained.
func TestDrainsNotAll(t *testing.T) {
	w := newWorld(t)
	w.script, w.owners = strings.Replace(asking, "--restarts=5", "--restarts=100", 1), []int{1000}
	k := w.rounds(2)
	for i := range 4 {
		w.saves(int64(10 * (i + 1)))
		w.logs["/fsx/7.out"] += "NVRM: Xid (PCI:0000:38:00): 79, pid=12, GPU has fallen off the bus.\n"
		w.job.NodeList = fmt.Sprintf("q-dy-r-%d", i+1)
		w.round(k)
		w.fails("FAILED", 1)
		for range 5 {
			w.round(k)
		}
		w.schedule()
		w.round(k)
	}
	if len(w.drained) != leastDrains {
		t.Errorf("drained %q", w.drained)
	}
	told := slices.ContainsFunc(w.events, func(e Event) bool { return strings.Contains(e.Reason, "it stays in service") })
	if !told {
		t.Errorf("nobody was told: %+v", w.events)
	}
}

// Checkpoints that another job may be writing stay as they are.
func TestMendsNothingOfOthers(t *testing.T) {
	for name, row := range map[string]struct {
		dir  string
		runs bool
		want int
	}{"in_it": {"/fsx/ck/other", true, 0}, "above_it": {"/fsx", true, 0}, "beside_it": {"/fsx/ck2", true, 1}, "waits": {"/fsx/ck", false, 1}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			k := w.rounds(2)
			other := &record{ID: 8, Label: "8", UID: 1000, Policy: policy.Policy{Checkpoints: []string{row.dir}}}
			if row.runs {
				other.Run = &run{}
			}
			k.records[8] = other
			k.records[7].Act = &act{}
			k.lock.Lock()
			defer k.lock.Unlock()
			if goes, err := k.mend(t.Context(), k.records[7]); err != nil || !goes || w.mends != row.want || !k.records[7].Act.Mending.Done {
				t.Errorf("mended %d times, %v", w.mends, err)
			}
		})
	}
}

// Two jobs with one directory of checkpoints are told of, unless their program knows: tasks of an array do.
func TestTellsOfSharedCheckpoints(t *testing.T) {
	for name, row := range map[string]struct {
		dir, label string
		runs       bool
		want       int
	}{"same": {"/fsx/ck", "8", true, 1}, "in_it": {"/fsx/ck/other", "8", true, 1}, "beside_it": {"/fsx/ck2", "8", true, 0}, "waits": {"/fsx/ck", "8", false, 0}, "array": {"/fsx/ck", "7_1", true, 0}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			k := w.keeper()
			other := &record{ID: 8, Label: row.label, UID: 1000, Policy: policy.Policy{Checkpoints: []string{row.dir}}}
			if row.runs {
				other.Run = &run{}
			}
			first := &record{ID: 7, Label: "7", Policy: policy.Policy{Checkpoints: []string{"/fsx/ck"}}, Run: &run{}}
			if row.label != "8" {
				first.Label = "7_0"
			}
			k.records = map[int]*record{7: first, 8: other}
			k.tellShared(first)
			first.Rounds = append(first.Rounds, client.JobRound{})
			k.tellShared(first) // once
			if told := w.toldOf("job checkpoint"); len(told) != row.want || row.want > 0 && !strings.HasPrefix(told[0], "job 7: job 8 runs, too, and has its checkpoints in the same directory|") {
				t.Errorf("told %q", told)
			}
		})
	}
}

// A job that was never queued again is not the one that had its number.
func TestAnothersNumber(t *testing.T) {
	w := newWorld(t)
	w.rounds(2)
	w.fails("COMPLETED", 0)
	w.rounds(4)
	w.script = "#!/bin/sh\nsrun other\n"
	w.job.State, w.job.StartTime, w.job.EndTime = "RUNNING", time.Now().Truncate(time.Second), time.Time{}
	w.rounds(2)
	w.fails("FAILED", 1)
	if w.rounds(6); w.requeues > 0 {
		t.Error("it was queued again")
	}
}

// A job that Slurm does not let leave nodes out goes on with them, and is not held for ever.
func TestMayNotExclude(t *testing.T) {
	w := newWorld(t)
	w.refuses = errors.New("scontrol: Requested node configuration is not available")
	w.rounds(2)
	w.nodes[1].Reason, w.nodes[1].ReasonTime = "muster: the instance ended", time.Now()
	w.fails("FAILED", 1)
	if w.rounds(6); w.requeues != 1 || w.job.State != "RUNNING" {
		t.Errorf("%d requeues, %s", w.requeues, w.job.State)
	}
	if !slices.ContainsFunc(w.events, func(e Event) bool { return strings.Contains(e.Reason, "configuration is not available") }) {
		t.Errorf("nobody was told: %+v", w.events)
	}
}

// Nodes at fault are left out for as long as there are others, the last ones first.
func TestExclusions(t *testing.T) {
	w := newWorld(t)
	j := slurm.Job{Partition: "q", NumNodes: 2, ExcNodeList: "q-dy-r-4"}
	for _, row := range []struct{ owners, wanted, want string }{
		{"", "q-dy-r-4 q-dy-r-1", "q-dy-r-4 q-dy-r-1"},
		{"", "q-dy-r-4 q-dy-r-2 q-dy-r-1", "q-dy-r-2 q-dy-r-1"},
		{"q-dy-r-3", "q-dy-r-4 q-dy-r-1", "q-dy-r-1"},
	} {
		if got := strings.Join(exclusions(j, strings.Fields(row.owners), w.nodes, strings.Fields(row.wanted)), " "); got != row.want {
			t.Errorf("of %s with %s: got %s, want %s", row.wanted, row.owners, got, row.want)
		}
	}
	w.nodes[1].State = slurm.ParseNodeState("IDLE+CLOUD+DRAIN")
	for wanted, want := range map[string]string{"q-dy-r-4 q-dy-r-1": "q-dy-r-1", "q-dy-r-1 q-dy-r-2": "q-dy-r-1 q-dy-r-2"} {
		if got := strings.Join(exclusions(j, nil, w.nodes, strings.Fields(wanted)), " "); got != want {
			t.Errorf("of %s with q-dy-r-2 drained: got %s, want %s", wanted, got, want)
		}
	}
}

// A job that waits has a node again that was at fault when it has booted, or when others were drained.
func TestReadmit(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"it_has_booted": func(w *world) { w.nodes[1].BootTime = time.Now().Add(time.Minute) },
		"others_are_drained": func(w *world) {
			w.nodes[2].State, w.nodes[3].State = slurm.ParseNodeState("IDLE+CLOUD+DRAIN"), slurm.ParseNodeState("IDLE+CLOUD+DRAIN")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			k := w.rounds(2)
			w.loses(1)
			for range 4 {
				w.round(k)
			}
			if w.job.State != "PENDING" || w.job.ExcNodeList != "q-dy-r-2" {
				t.Fatalf("%s, excluded %q", w.job.State, w.job.ExcNodeList)
			}
			change(w)
			told := len(w.events)
			w.round(k)
			w.round(k)
			if w.job.ExcNodeList != "" || len(w.events) != told+1 || !slices.Equal(w.events[told].Nodes, []string{"q-dy-r-2"}) {
				t.Errorf("excluded %q, told %+v", w.job.ExcNodeList, w.events[told:])
			}
		})
	}
}

// A job whose checkpoints cannot be seen, or have no step in their names, goes on as long as its steps do.
func TestStepsWhereCheckpointsSayNothing(t *testing.T) {
	last := errand.Checkpoint{Dir: "/fsx/ck/last.ckpt", Step: -1, Whole: true}
	older := errand.Checkpoint{Dir: "/fsx/ck/step-10", Step: 10, Whole: true}
	for name, row := range map[string]struct {
		dirs   []string
		found  []errand.Checkpoint
		unseen bool
		want   int64
	}{
		"seen":         {[]string{"/fsx/ck"}, []errand.Checkpoint{older, last}, false, 10},
		"none_yet":     {[]string{"/fsx/ck"}, nil, false, -1},
		"not_named":    {nil, nil, false, 700},
		"cannot_see":   {[]string{"/fsx/ck"}, []errand.Checkpoint{older}, true, 700},
		"without_step": {[]string{"/fsx/ck"}, []errand.Checkpoint{last}, false, 700},
	} {
		t.Run(name, func(t *testing.T) {
			r := &record{Policy: policy.Policy{Checkpoints: row.dirs}, Run: &run{Step: 700}, Checkpoints: row.found, unseen: map[bool]string{true: "no permission"}[row.unseen]}
			if got := r.evidence(outcome{}).Checkpoint; got != row.want {
				t.Errorf("it reached %d, want %d", got, row.want)
			}
		})
	}
}
