package job_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/slurm"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.Local)

func pending(reason string) job.View {
	return job.View{Job: slurm.Job{ID: 7, State: "PENDING", Reason: reason, EligibleTime: noon}}
}

func running(restarts int) job.View {
	return job.View{Job: slurm.Job{ID: 7, State: "RUNNING", NodeList: "q-[1-2]", Restarts: restarts, StartTime: noon}}
}

func ended(state string, code int) job.View {
	return job.View{Job: slurm.Job{ID: 7, State: state, NodeList: "q-[1-2]", ExitCode: slurm.ExitCode{Code: code},
		StartTime: noon, EndTime: noon.Add(95 * time.Second)}}
}

// givesWay is a job that has been told at a time to make room within a minute.
func givesWay(told time.Time) job.View {
	v := running(0)
	v.Job.PreemptTime, v.Job.EndTime = told, told.Add(time.Minute)
	return v
}

func TestChanges(t *testing.T) {
	requeued := pending("BeginTime")
	requeued.Job.Restarts = 1
	known := requeued
	known.Lost = []job.Lost{{Node: "q-2", Reason: "the instance ended"}}
	leaving := job.View{Job: slurm.Job{ID: 7, State: "COMPLETING", Again: true, Restarts: 1, NodeList: "q-1"}}
	leavingKnown, leavingAfter := leaving, leaving
	leavingKnown.Lost, leavingAfter.Before = known.Lost, "NODE_FAIL"
	cases := map[string]struct {
		before, after job.View
		want          []string
	}{
		"first_look_without_reason": {job.View{}, pending(""), nil},
		"first_look":                {job.View{}, pending("Resources"), []string{"waits for free nodes"}},
		"first_look_running":        {job.View{}, running(0), []string{"runs on q-[1-2]"}},
		"first_look_ended":          {job.View{}, ended("FAILED", 3), []string{"failed with exit code 3 after 1:35"}},
		"nothing":                   {running(0), running(0), nil},
		"another_reason":            {pending("Priority"), pending("Resources"), []string{"waits for free nodes"}},
		"same_reason_in_words":      {pending("Nodes_required_for_job_are_DOWN,_DRAINED"), pending("Nodes_required_for_job_are_DOWN"), nil},
		"no_longer_a_reason":        {pending("Resources"), pending(""), nil},
		"configuring": {pending(""), job.View{Job: slurm.Job{ID: 7, State: "CONFIGURING", NodeList: "q-[1-2]"}, Starting: "q-2"},
			[]string{"waits for its nodes to power up: q-2"}},
		"configuring_with_a_burn_in": {pending(""), job.View{Job: slurm.Job{ID: 7, State: "CONFIGURING", NodeList: "q-[1-2]", Partition: "q"}, Starting: "q-2",
			BurnIn: map[string]time.Duration{"q": 15 * time.Minute}}, []string{"waits for its nodes to power up: q-2; new ones prove themselves first, for up to 15 min (BurnIn of muster.yaml)"}},
		"configuring_nodes_that_are_up": {pending(""), job.View{Job: slurm.Job{ID: 7, State: "CONFIGURING", NodeList: "q-[1-2]"}},
			[]string{"is about to start on q-[1-2]"}},
		"last_task_of_an_array": {job.View{Job: slurm.Job{ID: 7, ArrayJobID: 7, ArrayTask: "2-3%1", State: "PENDING", Reason: "JobArrayTaskLimit"}},
			job.View{Job: slurm.Job{ID: 7, ArrayJobID: 7, ArrayTask: "3", State: "RUNNING", NodeList: "q-1"}}, []string{"is now task 7_3 of its array", "runs on q-1"}},
		"starts":               {pending("Resources"), running(0), []string{"runs on q-[1-2]"}},
		"makes_room":           {running(0), givesWay(noon.Add(time.Hour)), []string{"makes room for another job, and is ended at 13:01:00 at the latest; it runs on q-[1-2]"}},
		"still_makes_room":     {givesWay(noon.Add(time.Hour)), givesWay(noon.Add(time.Hour)), nil},
		"made_room_before":     {running(0), givesWay(noon.Add(-time.Hour)), nil},
		"completing":           {running(0), job.View{Job: slurm.Job{ID: 7, State: "COMPLETING"}}, []string{"is done; Slurm cleans up"}},
		"leaves_a_lost_node":   {running(0), leavingKnown, []string{"went back into the queue because node q-2 failed (the instance ended)"}},
		"has_left_it":          {leavingKnown, known, []string{"waits until 12:00:00 before it may start"}},
		"first_look_leaving":   {job.View{}, leavingKnown, []string{"will be queued again because node q-2 failed (the instance ended); Slurm cleans up"}},
		"left_some_node":       {job.View{}, leavingAfter, []string{"will be queued again because a node failed; Slurm cleans up"}},
		"leaves_by_hand":       {job.View{}, leaving, []string{"will be queued again; Slurm cleans up"}},
		"completed":            {running(0), ended("COMPLETED", 0), []string{"completed after 1:35"}},
		"too_quick_to_be_seen": {pending(""), ended("COMPLETED", 0), []string{"was given q-[1-2]", "completed after 1:35"}},
		"node_lost": {running(0), known, []string{
			"went back into the queue because node q-2 failed (the instance ended)", "waits until 12:00:00 before it may start"}},
		"requeued_by_hand": {running(0), requeued, []string{"went back into the queue", "waits until 12:00:00 before it may start"}},
		"runs_again":       {requeued, running(1), []string{"runs on q-[1-2], attempt 2"}},
		"requeued_between": {running(0), running(1), []string{"went back into the queue", "runs on q-[1-2], attempt 2"}},
		"suspended":        {running(0), job.View{Job: slurm.Job{ID: 7, State: "SUSPENDED"}}, []string{"is suspended"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, job.Changes(c.before, c.after)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhy(t *testing.T) {
	cases := map[string]string{
		"":                                      "waits for Slurm to look at it",
		"Resources":                             "waits for free nodes",
		"JobHeldUser":                           "is held; `scontrol release 7` lets it go",
		"Dependency":                            "waits for other jobs (afterok:6)",
		"QOSMaxJobs":                            "waits because a limit was reached (QOSMaxJobs)",
		"Brand_New":                             "waits (Brand New)",
		"BeginTime":                             "waits until 12:00:00 before it may start",
		"ReqNodeNotAvail(Unavailable:q-1)":      "waits for nodes that are not available (Unavailable:q-1)",
		"ReqNodeNotAvail,_UnavailableNodes:q-1": "waits for nodes that are not available",
		"Nodes_required_for_job_are_DOWN,_DRAINED": "waits for nodes that are down, drained or reserved",
	}
	for reason, want := range cases {
		j := pending(reason).Job
		j.Dependency = "afterok:6"
		if got := job.Why(j); got != want {
			t.Errorf("Why(%q) = %q, want %q", reason, got, want)
		}
	}
}

func TestLostNodes(t *testing.T) {
	node := func(name, state, reason string, at time.Time) slurm.Node {
		return slurm.Node{Name: name, State: slurm.ParseNodeState(state), Reason: reason, ReasonTime: at}
	}
	nodes := []slurm.Node{
		node("q-1", "IDLE", "", time.Time{}),
		node("q-2", "IDLE+CLOUD+POWERED_DOWN", "muster: the instance ended", noon),
		node("q-3", "DOWN", "Not responding", noon.Add(-time.Hour)),
		node("q-4", "IDLE", "an old story", noon.Add(-time.Hour)),
		node("q-5", "DOWN", "another's", noon),
	}
	want := []job.Lost{{Node: "q-2", Reason: "the instance ended"}, {Node: "q-3", Reason: "Not responding"}}
	if diff := cmp.Diff(want, job.LostNodes("q-[1-4]", nodes, noon)); diff != "" {
		t.Error(diff)
	}
	if got := job.LostNodes("q-[", nodes, noon); got != nil {
		t.Errorf("got %v of a host list that is none", got)
	}
}
