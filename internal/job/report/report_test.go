package report_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/job/report"
	"github.com/muster-hpc/muster/internal/slurm"
)

var zero = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

// at is a time so many seconds after zero.
func at(s float64) time.Time { return zero.Add(time.Duration(s * float64(time.Second))) }

// run is a run of a job on two nodes, whose batch script began after ready seconds.
func run(state string, from, ready, to float64) slurm.Held {
	r := slurm.Held{Run: slurm.Run{ID: 7, Label: "7", User: "u", Account: "a", State: state, Submit: at(from - 10), Start: at(from), NumNodes: 2, NodeList: "n[1-2]"}}
	if to > 0 {
		r.End = at(to)
	}
	if ready > from {
		r.Steps = []slurm.Step{{Name: "extern", Start: at(from)}, {Name: "batch", Start: at(ready), End: r.End}, {Name: "0", Start: at(ready), End: r.End}}
	}
	return r
}

// steps are marks every so many seconds and steps, from a step on.
func steps(from float64, every float64, first, stride int64, count int) (all []report.Mark) {
	for i := range count {
		all = append(all, report.Mark{At: at(from + float64(i)*every), Step: first + int64(i)*stride})
	}
	return all
}

// text is a split as seconds of each class.
func text(splits []report.Split) string {
	var parts []string
	for _, s := range splits {
		var spans []string
		for _, p := range s.Spans {
			spans = append(spans, fmt.Sprintf("%s %g", p.Class.Key(), p.To.Sub(p.From).Seconds()))
		}
		parts = append(parts, strings.Join(spans, ", "))
	}
	return strings.Join(parts, " | ")
}

func TestOf(t *testing.T) {
	saved := func(step int64, second float64) report.Saved { return report.Saved{Step: step, At: at(second)} }
	cases := map[string]struct {
		job  report.Job
		now  float64
		want string
	}{
		"nothing_is_known_but_its_time": {
			report.Job{Runs: []slurm.Held{run("COMPLETED", 0, 30, 1000)}}, 2000,
			"nodes 30, unknown 970"},
		"a_whole_training": {
			report.Job{Runs: []slurm.Held{run("COMPLETED", 0, 30, 1110)}, Marks: steps(110, 10, 10, 10, 100)}, 2000,
			"nodes 30, program 70, training 1010"},
		"its_last_step_ends_in_its_last_second": {
			report.Job{Runs: []slurm.Held{run("COMPLETED", 0, 30, 1109)}, Marks: append(steps(109.2, 10, 10, 10, 100), report.Mark{At: at(1109.9), Step: 1010})}, 2000,
			"nodes 30, program 69.2, training 1009.8"},
		"its_tasks_ended_before_its_script": {
			report.Job{Runs: []slurm.Held{{Run: run("COMPLETED", 0, 30, 2000).Run, Steps: []slurm.Step{{Name: "0", Start: at(30), End: at(1110)}}}},
				Marks: steps(110, 10, 10, 10, 100)}, 3000,
			"nodes 30, program 70, training 1010, idle 890"},
		"steps_are_done_again_after_a_node_was_lost": {
			report.Job{Runs: []slurm.Held{run("NODE_FAIL", 0, 30, 640), run("COMPLETED", 700, 720, 1500)},
				Marks: append(steps(110, 10, 10, 10, 50), steps(790, 10, 410, 10, 71)...), Saved: []report.Saved{saved(400, 505)}, SavedKnown: true}, 2000,
			// Step 400 was done at 500 s, and saved until 505; 500 steps were done at 600, and the loss noticed at 640.
			"nodes 30, program 70, training 400, lost_work 110, hang 30 | restart 80, training 720"},
		"a_save_is_longer_than_its_steps": {
			report.Job{Runs: []slurm.Held{run("COMPLETED", 0, 30, 330)}, Marks: append(steps(110, 10, 10, 10, 10), steps(240, 10, 110, 10, 10)...),
				Saved: []report.Saved{saved(100, 225)}, SavedKnown: true}, 2000,
			"nodes 30, program 70, training 100, checkpoint 30, training 100"},
		"only_some_of_its_saves_are_known": {
			report.Job{Runs: []slurm.Held{run("COMPLETED", 0, 30, 630)}, Marks: append(steps(110, 10, 10, 10, 10), steps(540, 10, 110, 10, 10)...),
				Saved: []report.Saved{saved(200, 600)}}, 2000,
			"nodes 30, program 70, training 100, unknown 330, training 100"},
		"its_saves_are_known_since_it_is_kept": {
			report.Job{Runs: []slurm.Held{run("COMPLETED", 0, 30, 1020)},
				Marks: append(append(steps(110, 10, 10, 10, 10), steps(500, 10, 110, 10, 10)...), steps(930, 10, 210, 10, 10)...),
				Saved: []report.Saved{saved(200, 610)}, SavedKnown: true, SavedFrom: at(300)}, 2000,
			"nodes 30, program 70, training 100, unknown 290, training 100, checkpoint 20, hang 310, training 100"},
		"it_hangs_after_a_save": {
			report.Job{Runs: []slurm.Held{run("COMPLETED", 0, 30, 1330)}, Marks: append(steps(110, 10, 10, 10, 10), steps(1240, 10, 110, 10, 10)...),
				Saved: []report.Saved{saved(100, 225)}, SavedKnown: true}, 2000,
			"nodes 30, program 70, training 100, checkpoint 25, hang 1005, training 100"},
		"it_evaluates_for_longer_than_its_steps_take": {
			report.Job{Runs: []slurm.Held{run("COMPLETED", 0, 30, 1330)}, SavedKnown: true,
				Marks: append(append(steps(110, 10, 10, 10, 10), report.Mark{At: at(1225), Step: 100, Eval: true}), steps(1240, 10, 110, 10, 10)...)}, 2000,
			"nodes 30, program 70, training 1230"},
		"it_saves_and_then_evaluates": {
			report.Job{Runs: []slurm.Held{run("COMPLETED", 0, 30, 1330)}, SavedKnown: true, Saved: []report.Saved{saved(100, 400)},
				Marks: append(append(steps(110, 10, 10, 10, 10), report.Mark{At: at(1225), Step: 100, Eval: true}), steps(1240, 10, 110, 10, 10)...)}, 2000,
			"nodes 30, program 70, training 100, checkpoint 200, training 930"},
		"its_last_save_and_evaluation_are_long": {
			report.Job{Runs: []slurm.Held{run("COMPLETED", 0, 30, 900)}, SavedKnown: true, Saved: []report.Saved{saved(100, 400)},
				Marks: append(steps(110, 10, 10, 10, 10), report.Mark{At: at(900), Step: 100, Eval: true})}, 2000,
			"nodes 30, program 70, training 100, checkpoint 200, training 500"},
		"its_evaluation_is_over_in_its_last_second": {
			report.Job{Runs: []slurm.Held{run("COMPLETED", 0, 30, 900)}, SavedKnown: true,
				Marks: append(steps(110, 10, 10, 10, 10), report.Mark{At: at(900.1), Step: 100, Eval: true}, report.Mark{At: at(900.4), Step: 110}, report.Mark{At: at(900.6), Step: 120})}, 2000,
			"nodes 30, program 70, training 800"},
		"it_evaluates_and_saves_in_its_last_second": {
			report.Job{Runs: []slurm.Held{run("COMPLETED", 0, 30, 900)}, SavedKnown: true, Saved: []report.Saved{saved(120, 900.5)},
				Marks: append(steps(110, 10, 10, 10, 10), report.Mark{At: at(900.1), Step: 100, Eval: true}, report.Mark{At: at(900.4), Step: 110}, report.Mark{At: at(900.6), Step: 120})}, 2000,
			"nodes 30, program 70, training 800"},
		"its_save_is_over_in_its_last_second": {
			report.Job{Runs: []slurm.Held{run("COMPLETED", 0, 30, 900)}, SavedKnown: true, Saved: []report.Saved{saved(100, 900.4)},
				Marks: append(steps(110, 10, 10, 10, 10), report.Mark{At: at(900.6), Step: 110})}, 2000,
			"nodes 30, program 70, training 100, checkpoint 690, training 10"},
		"it_evaluates_now": {
			report.Job{Runs: []slurm.Held{run("RUNNING", 0, 30, 0)}, Marks: append(steps(110, 10, 10, 10, 20), report.Mark{At: at(990), Eval: true, Step: 200})}, 1000,
			"nodes 30, program 70, training 900"},
		"it_hangs_until_somebody_ends_it": {
			report.Job{Runs: []slurm.Held{run("CANCELLED", 0, 30, 5000)}, Marks: steps(110, 10, 10, 10, 20), Saved: []report.Saved{saved(200, 301)}, SavedKnown: true}, 6000,
			"nodes 30, program 70, training 200, checkpoint 1, lost_work 10, hang 4689"},
		"it_hangs_now": {
			report.Job{Runs: []slurm.Held{run("RUNNING", 0, 30, 0)}, Marks: steps(110, 10, 10, 10, 20)}, 1000,
			"nodes 30, program 70, training 235, hang 665"},
		"it_ended_and_nobody_knows_what_was_saved": {
			report.Job{Runs: []slurm.Held{run("TIMEOUT", 0, 30, 310)}, Marks: steps(110, 10, 10, 10, 20)}, 1000,
			"nodes 30, program 70, unknown 210"},
		"a_run_that_came_to_no_step": {
			report.Job{Runs: []slurm.Held{run("FAILED", 0, 30, 100), run("COMPLETED", 120, 130, 410)}, Marks: steps(210, 10, 10, 10, 20), LogWhole: true}, 1000,
			"nodes 30, program 70 | restart 80, training 210"},
		"nodes_that_never_came": {
			report.Job{Runs: []slurm.Held{run("NODE_FAIL", 0, 0, 300)}}, 1000, "nodes 300"},
		"an_allocation_in_which_nothing_ran": {
			report.Job{Runs: []slurm.Held{run("CANCELLED", 0, 0, 300)}}, 1000, "idle 300"},
		"an_allocation_with_pauses": {
			report.Job{Runs: []slurm.Held{{Run: run("CANCELLED", 0, 0, 300).Run, Steps: []slurm.Step{{Name: "0", Start: at(10), End: at(50)}, {Name: "1", Start: at(100), End: at(150)}}}}}, 1000,
			"nodes 10, unknown 40, idle 50, unknown 50, idle 150"},
		"the_program_starts_anew_within_a_run": {
			report.Job{Runs: []slurm.Held{run("COMPLETED", 0, 30, 560)}, Marks: append(steps(110, 10, 10, 10, 20), steps(360, 10, 160, 10, 21)...)}, 1000,
			"nodes 30, program 70, training 150, lost_work 60, restart 40, training 210"},
		"a_log_that_counts_anew_in_each_epoch": {
			report.Job{Runs: []slurm.Held{run("COMPLETED", 0, 30, 510)}, Marks: append(steps(110, 10, 10, 10, 20), steps(310, 10, 10, 10, 21)...)}, 1000,
			"nodes 30, program 70, training 410"},
		"a_log_that_was_read_late": { // from the 500th step on; the lines before have the time at which they were read
			report.Job{Runs: []slurm.Held{run("COMPLETED", 0, 30, 1110)}, Marks: append(steps(600, 0, 10, 10, 50), steps(610, 10, 510, 10, 50)...)}, 2000,
			"nodes 30, program 70, training 1010"},
		"processes_that_write_past_each_other": {
			report.Job{Runs: []slurm.Held{run("COMPLETED", 0, 30, 310)}, Marks: append(steps(110, 10, 10, 10, 20), steps(111, 10, 10, 10, 20)...)}, 1000,
			"nodes 30, program 70, training 210"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, text(report.Of(c.job, at(c.now)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOf_gives_each_moment_to_one_class is the law of the package, for whatever there is in accounting and logs.
func TestOf_gives_each_moment_to_one_class(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		j, now := anyJob(r)
		splits := report.Of(j, now)
		held := report.NodeTime(0)
		for _, s := range splits {
			end := s.Run.End
			if end.IsZero() {
				end = now.Truncate(time.Millisecond)
			}
			covered := s.Suspended
			for i, p := range s.Spans {
				if !p.To.After(p.From) || i > 0 && p.From.Before(s.Spans[i-1].To) || p.From.Before(s.Run.Start) || p.To.After(end) {
					t.Fatalf("seed %d: %v of %v in %+v", seed, p, s.Run.Start, s.Spans)
				}
				covered += p.To.Sub(p.From)
			}
			if covered != end.Sub(s.Run.Start) {
				t.Fatalf("seed %d: %s of %s is classified: %s", seed, covered, end.Sub(s.Run.Start), text(splits))
			}
			names, _ := slurm.Expand(s.Run.NodeList)
			held += report.NodeTime((end.Sub(s.Run.Start) - s.Suspended).Milliseconds() * int64(len(names)))
		}
		for _, by := range []report.By{report.ByJob, report.ByUser, report.ByAccount, report.ByNode} {
			rows, total := report.Rows(splits, by, report.Window{}, nil)
			sum := report.NodeTime(0)
			for _, row := range rows {
				for _, c := range report.Classes() {
					sum += row.Of[c]
				}
			}
			if sum != held || total.Held != held {
				t.Fatalf("seed %d: by %s %d, in all %d, held %d", seed, by, sum, total.Held, held)
			}
		}
		half := report.Window{To: at(r.Float64() * 4000)}
		_, first := report.Rows(splits, report.ByJob, half, nil)
		_, second := report.Rows(splits, report.ByJob, report.Window{From: half.To}, nil)
		if first.Held+second.Held > held || held-first.Held-second.Held > 2*64 {
			t.Fatalf("seed %d: %d and %d of %d in two windows", seed, first.Held, second.Held, held)
		}
	}
}

// anyJob is a job with whatever runs, marks and checkpoints.
func anyJob(r *rand.Rand) (j report.Job, now time.Time) {
	states := []string{"COMPLETED", "FAILED", "NODE_FAIL", "REQUEUED", "CANCELLED", "TIMEOUT", "PREEMPTED", "OUT_OF_MEMORY", "BOOT_FAIL"}
	from := 0.0
	for range r.IntN(4) + 1 {
		to := from + float64(r.IntN(1000))
		ready := from + float64(r.IntN(200)-50)
		one := run(states[r.IntN(len(states))], from, ready, max(to, 1))
		one.NodeList = []string{"n1", "n[1-2]", "n[1-3,7]", ""}[r.IntN(4)]
		if r.IntN(5) == 0 {
			one.Suspended = time.Duration(r.IntN(500)) * time.Second
		}
		if r.IntN(3) == 0 {
			one.Steps = append(one.Steps, slurm.Step{Name: "1", Start: at(from + float64(r.IntN(1200)-100)), End: at(from + float64(r.IntN(1200)))})
		}
		j.Runs = append(j.Runs, one)
		from = to + float64(r.IntN(100)-10)
	}
	if r.IntN(3) == 0 {
		last := &j.Runs[len(j.Runs)-1]
		last.End, last.State = time.Time{}, "RUNNING"
	}
	second, step := 0.0, int64(0)
	for range r.IntN(200) {
		second += r.Float64() * 40
		step += int64(r.IntN(20))
		if r.IntN(20) == 0 {
			step = int64(r.IntN(int(step + 1)))
		}
		if r.IntN(30) == 0 {
			j.Saved = append(j.Saved, report.Saved{At: at(second), Step: step})
		}
		j.Marks = append(j.Marks, report.Mark{At: at(second), Step: step, Eval: r.IntN(20) == 0})
	}
	j.SavedFrom = at(r.Float64() * 4000)
	j.SavedKnown, j.LogWhole = r.IntN(2) == 0, r.IntN(2) == 0
	return j, at(from + r.Float64()*1000)
}

// TestOf_never_calls_good_what_nobody_knows holds it of jobs whose logs say nothing.
func TestOf_never_calls_good_what_nobody_knows(t *testing.T) {
	for seed := range uint64(500) {
		j, now := anyJob(rand.New(rand.NewPCG(seed, 2)))
		j.Marks, j.Saved = nil, nil
		_, total := report.Rows(report.Of(j, now), report.ByJob, report.Window{}, nil)
		if total.Of[report.Training] != 0 {
			t.Fatalf("seed %d: %s of training", seed, text(report.Of(j, now)))
		}
	}
}

func TestRows(t *testing.T) {
	splits := report.Of(report.Job{Runs: []slurm.Held{run("COMPLETED", 0, 30, 3600)}}, at(9000))
	machines := report.Machines{"n1": {Type: "x", USDPerHour: 40}}
	rows, total := report.Rows(splits, report.ByNode, report.Window{}, machines)
	keys := map[string]bool{}
	for _, r := range rows {
		keys[r.Key] = true
	}
	if got := strings.Join(slices.Sorted(maps.Keys(keys)), " "); got != "n1 n2" {
		t.Error(got)
	}
	i := slices.IndexFunc(rows, func(r report.Row) bool { return r.Key == "n1" })
	if rows[i].USD != 40 || rows[i].Unpriced != 0 || rows[1-i].USD != 0 || rows[1-i].Unpriced.Hours() != 1 {
		t.Errorf("%+v", rows)
	}
	if total.USD != 40 || total.Unpriced.Hours() != 1 || total.Held.Hours() != 2 || total.Jobs != 1 || total.Runs != 1 || total.Queued != 10*time.Second {
		t.Errorf("%+v", total)
	}
}

// TestRows_prices_a_part_of_a_node by the GPUs or CPUs that a job holds of it.
func TestRows_prices_a_part_of_a_node(t *testing.T) {
	cases := map[string]struct {
		tres string
		want float64
	}{
		"all_of_it":           {"cpu=192,node=1,gres/gpu=8", 40},
		"two_of_eight_gpus":   {"cpu=2,node=1,gres/gpu=2", 10},
		"half_of_its_cpus":    {"cpu=96,node=1", 20},
		"most_of_both_counts": {"cpu=96,node=1,gres/gpu=2", 20},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := run("COMPLETED", 0, 30, 3600)
			r.NodeList, r.NumNodes, r.TRES = "n1", 1, c.tres
			_, total := report.Rows(report.Of(report.Job{Runs: []slurm.Held{r}}, at(9000)), report.ByJob, report.Window{},
				report.Machines{"n1": {USDPerHour: 40, CPUs: 192, GPUs: 8}})
			if total.USD != c.want {
				t.Errorf("$%g instead of $%g", total.USD, c.want)
			}
		})
	}
}
