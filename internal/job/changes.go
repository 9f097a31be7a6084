package job

import (
	"fmt"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// Changes tells a user what has happened to a job between two looks, a line
// each. The lines go on from "the job". The zero View is before the first look.
func Changes(before, after View) []string {
	var lines []string
	b, a := before.Job, after.Job
	again := b.ID != 0 && a.Restarts > b.Restarts
	if b.Unsplit() && !a.Unsplit() {
		lines = append(lines, "is now task "+a.Label()+" of its array")
	}
	if again {
		lines = append(lines, requeued(after))
	}
	if a.Ended() && !ran(b) && a.NodeList != "" && b.ID != 0 {
		lines = append(lines, "was given "+a.NodeList)
	}
	switch {
	case a.State == "PENDING" && a.Reason == "":
		// A moment later Slurm has a reason or starts the job.
	case again && a.Again:
		// That it goes back into the queue is all there is to say.
	case a.State != b.State, again, GivesWay(a) != "" && GivesWay(b) == "", a.State == "PENDING" && Why(a) != Why(b):
		lines = append(lines, State(after))
	}
	return lines
}

// ran says that a user has heard where the job runs.
func ran(j slurm.Job) bool {
	switch j.State {
	case "", "PENDING", "CONFIGURING":
		return false
	}
	return true
}

func requeued(v View) string { return "went back into the queue" + ofLoss(v) }

// ofLoss says that the job is queued again because nodes failed, if that is why.
func ofLoss(v View) string {
	if len(v.Lost) == 0 && v.Before != "NODE_FAIL" {
		return ""
	}
	return " because " + whoFailed(v.Lost)
}

// State says what the job does now. It goes on from "the job".
func State(v View) string {
	j := v.Job
	switch {
	case j.Ended():
		return EndingOf(v).Text + took(j)
	case j.State == "PENDING":
		return Why(j)
	case j.State == "CONFIGURING" && v.Starting != "":
		return "waits for its nodes to power up: " + v.Starting + spec.BurnInWords(v.BurnIn[j.Partition])
	case j.State == "CONFIGURING":
		return "is about to start on " + j.NodeList
	case GivesWay(j) != "":
		return GivesWay(j) + "; it runs on " + j.NodeList
	case j.State == "RUNNING" && j.Restarts > 0:
		return fmt.Sprintf("runs on %s, attempt %d", j.NodeList, attempt(j))
	case j.State == "RUNNING":
		return "runs on " + j.NodeList
	case j.Again:
		return "will be queued again" + ofLoss(v) + "; Slurm cleans up"
	case j.State == "COMPLETING":
		return "is done; Slurm cleans up"
	case j.State == "SUSPENDED", j.State == "STOPPED":
		return "is suspended"
	}
	return "is " + j.State
}

// GivesWay says that a job that runs has to make room for another one, and until when; empty is that it has not. It goes on
// from "the job". Slurm sets the end of a job's grace as its end (preempt.c of slurmctld).
func GivesWay(j slurm.Job) string {
	if j.State != "RUNNING" || j.PreemptTime.IsZero() || j.PreemptTime.Before(j.StartTime) {
		return ""
	}
	text := "makes room for another job"
	if !j.EndTime.IsZero() {
		text += ", and is ended at " + j.EndTime.Format(time.TimeOnly) + " at the latest"
	}
	return text
}

// took is how long the job's last run was.
func took(j slurm.Job) string {
	if j.StartTime.IsZero() || j.EndTime.Sub(j.StartTime) < time.Second {
		return ""
	}
	return " after " + Span(j.EndTime.Sub(j.StartTime))
}
