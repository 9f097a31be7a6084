package report_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/job/report"
	"github.com/muster-hpc/muster/internal/slurm"
)

// failures are so many of each node, a day apart.
func failures(of map[string]int) (all []report.Failure) {
	for node, n := range of {
		for i := range n {
			all = append(all, report.Failure{Node: node, At: at(float64(i) * 86400), Reason: "Not responding"})
		}
	}
	return all
}

// fleet are so many nodes, each held for as many hours.
func fleet(nodes int, hours float64) map[string]report.NodeTime {
	held := map[string]report.NodeTime{}
	for i := range nodes {
		held[fmt.Sprintf("n%d", i+1)] = report.NodeTime(hours * 3600e3)
	}
	return held
}

func TestNewLedger(t *testing.T) {
	cases := map[string]struct {
		held map[string]report.NodeTime
		of   map[string]int
		want []string
	}{
		"nothing_failed":                    {fleet(80, 100), nil, nil},
		"each_failed_once":                  {fleet(3, 100), map[string]int{"n1": 1, "n2": 1, "n3": 1}, nil},
		"one_failure_is_none":               {fleet(80, 100), map[string]int{"n1": 1}, nil},
		"two_of_eighty":                     {fleet(80, 100), map[string]int{"n1": 2}, []string{"n1"}},
		"one_of_many":                       {fleet(80, 100), map[string]int{"n1": 5, "n2": 1, "n3": 1, "n4": 1}, []string{"n1"}},
		"two_of_many":                       {fleet(80, 100), map[string]int{"n1": 6, "n2": 5, "n3": 1, "n4": 1}, []string{"n1", "n2"}},
		"too_few_nodes_to_tell":             {fleet(2, 100), map[string]int{"n1": 3, "n2": 1}, nil},
		"it_was_held_ten_times_as_long":     {map[string]report.NodeTime{"n1": 3600e6, "n2": 36e6, "n3": 36e6}, map[string]int{"n1": 5}, nil},
		"it_was_held_a_tenth_of_the_others": {map[string]report.NodeTime{"n1": 36e6, "n2": 3600e6, "n3": 3600e6}, map[string]int{"n1": 4, "n2": 2, "n3": 2}, []string{"n1"}},
		"nobody_held_it":                    {fleet(1, 100), map[string]int{"x": 4}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			l := report.NewLedger(c.held, failures(c.of))
			var worse []string
			for _, s := range l.Nodes {
				if s.Worse {
					worse = append(worse, s.Node)
				}
			}
			slices.Sort(worse)
			if diff := cmp.Diff(c.want, worse); diff != "" {
				t.Errorf("%s\n%+v", diff, l)
			}
		})
	}
}

// TestNewLedger_p compares with values of scipy.stats.binom.sf, times the number of nodes.
func TestNewLedger_p(t *testing.T) {
	for _, c := range []struct {
		nodes, own, others int
		want               float64
	}{
		{80, 3, 2, 80 * 1.9166870117e-05},
		{10, 2, 2, 10 * 0.0523},
		{80, 2, 0, 80 * 0.00015625},
	} {
		of := map[string]int{"n1": c.own}
		for i := range c.others {
			of[fmt.Sprintf("n%d", i+2)] = 1
		}
		l := report.NewLedger(fleet(c.nodes, 10), failures(of))
		if got := l.Nodes[0].P; l.Nodes[0].Node != "n1" || math.Abs(got/c.want-1) > 1e-3 {
			t.Errorf("%d of %d failures on one of %d nodes: P is %g instead of %g", c.own, c.own+c.others, c.nodes, got, c.want)
		}
	}
}

// TestNewLedger_rarely_blames_the_innocent draws fleets whose nodes all fail alike.
func TestNewLedger_rarely_blames_the_innocent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const times = 2000
	blamed := 0
	for range times {
		of := map[string]int{}
		for range 40 {
			of[fmt.Sprintf("n%d", r.IntN(80)+1)]++
		}
		if slices.ContainsFunc(report.NewLedger(fleet(80, 10), failures(of)).Nodes, func(s report.Standing) bool { return s.Worse }) {
			blamed++
		}
	}
	if part := float64(blamed) / times; part > 0.05 {
		t.Errorf("of %g of all fleets in which no node is worse, one is called so", part)
	}
}

func TestFailuresOf(t *testing.T) {
	event := func(node, state, reason, user string, second float64) slurm.NodeEvent {
		return slurm.NodeEvent{Node: node, State: state, Reason: reason, User: user, Start: at(second)}
	}
	lost := func(list string, end float64) slurm.Held {
		return slurm.Held{Run: slurm.Run{ID: 1, State: "NODE_FAIL", NodeList: list, Start: at(0), End: at(end)}}
	}
	cases := map[string]struct {
		events   []slurm.NodeEvent
		runs     []slurm.Held
		want     string
		unplaced int
	}{
		"it_did_not_answer":             {[]slurm.NodeEvent{event("n1", "DOWN*", "Not responding", "slurm", 100)}, nil, "n1 Not responding;", 0},
		"a_person_drained_it":           {[]slurm.NodeEvent{event("n1", "DRAIN", "look at fan", "alice", 100)}, nil, "", 0},
		"a_check_drained_it":            {[]slurm.NodeEvent{event("n1", "IDLE+DRAIN", "Xid 79", "root", 100)}, nil, "n1 Xid 79;", 0},
		"no_capacity":                   {[]slurm.NodeEvent{event("n1", "DOWN", "muster: launch failed, capacity: none", "root", 100)}, nil, "", 0},
		"a_node_called_test":            {[]slurm.NodeEvent{event("test-1", "DOWN", "test-1 does not answer", "root", 100)}, nil, "test-1 test-1 does not answer;", 0},
		"words_within_words":            {[]slurm.NodeEvent{event("n1", "DRAIN", "memtest failed on update-st-block-2", "root", 100)}, nil, "n1 memtest failed on update-st-block-2;", 0},
		"a_word_that_is_not_the_first":  {[]slurm.NodeEvent{event("n1", "DRAIN", "GPU failed its test, blocked", "root", 100)}, nil, "n1 GPU failed its test, blocked;", 0},
		"a_test":                        {[]slurm.NodeEvent{event("n1", "DOWN", "test", "root", 100)}, nil, "", 0},
		"a_fleet_that_stopped":          {[]slurm.NodeEvent{event("n1", "DOWN", "muster: fleet stopped", "root", 100)}, nil, "", 0},
		"a_capacity_block":              {[]slurm.NodeEvent{event("n1", "DOWN", "muster: capacity block cr-1 ended at 11:00", "root", 100)}, nil, "", 0},
		"the_same_one_twice":            {[]slurm.NodeEvent{event("n1", "DOWN", "a", "", 100), event("n1", "DOWN*", "b", "", 200)}, nil, "n1 a;", 0},
		"one_again_the_next_day":        {[]slurm.NodeEvent{event("n1", "DOWN", "a", "", 100), event("n1", "DOWN", "b", "", 90000)}, nil, "n1 a;n1 b;", 0},
		"a_job_that_it_explains":        {[]slurm.NodeEvent{event("n1", "DOWN", "a", "", 100)}, []slurm.Held{lost("n[1-2]", 102)}, "n1 a;", 0},
		"a_job_of_one_node":             {nil, []slurm.Held{lost("n1", 102)}, "n1 a job ended with NODE_FAIL;", 0},
		"a_job_of_which_nobody_can_say": {nil, []slurm.Held{lost("n[1-2]", 102)}, "", 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			all, unplaced := report.FailuresOf(c.events, c.runs)
			got := ""
			for _, f := range all {
				got += f.Node + " " + f.Reason + ";"
			}
			if got != c.want || unplaced != c.unplaced {
				t.Errorf("%q, %d unplaced", got, unplaced)
			}
		})
	}
}
