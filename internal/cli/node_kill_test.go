package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/slurm"
)

const jobRow = " UserId=root(0) GroupId=root(0) MCS_label=N/A Priority=1 Partition=q SubmitTime=2026-01-02T03:04:05 "

func TestJobsOnANode(t *testing.T) {
	rows := "JobId=1 JobName=train" + jobRow + "JobState=RUNNING Requeue=1 NodeList=n-[1-2]\n" +
		"JobId=2 JobName=once" + jobRow + "JobState=RUNNING Requeue=0 NodeList=n-1\n" +
		"JobId=3 JobName=other" + jobRow + "JobState=RUNNING Requeue=1 NodeList=n-11\n" +
		"JobId=4 JobName=done" + jobRow + "JobState=COMPLETED Requeue=1 NodeList=n-1\n" +
		"JobId=6 JobName=spare" + jobRow + "JobState=RUNNING Requeue=1 BatchFlag=1 NumNodes=2 BatchHost=n-2 NodeList=n-[1-2]\n" +
		"JobId=7 JobName=host" + jobRow + "JobState=RUNNING Requeue=1 BatchFlag=1 NumNodes=2 BatchHost=n-1 NodeList=n-[1-2]\n" +
		"JobId=8 JobName=off" + jobRow + "JobState=RUNNING Requeue=1 BatchFlag=1 NumNodes=2 BatchHost=n-2 NodeList=n-[1-2]\n" +
		"JobId=5 JobName=waits" + jobRow + "JobState=PENDING Requeue=1 NodeList=(null)\n"
	got, err := jobsOn(t.Context(), slurm.Client{Runner: answers{
		"show job": rows, "batch_script 6 -": "#!/bin/sh\n#SBATCH -k\nsrun x\n", "batch_script 7 -": "#!/bin/sh\n#SBATCH --no-kill\n",
		"batch_script 8 -": "#!/bin/sh\n#SBATCH --no-kill\n#SBATCH --no-kill=off\n",
	}}, "n-1")
	if err != nil {
		t.Fatal(err)
	}
	want := []killedJob{{ID: "1", Name: "train", Nodes: "n-[1-2]", Requeue: true}, {ID: "2", Name: "once", Nodes: "n-1"},
		{ID: "6", Name: "spare", Nodes: "n-[1-2]", Requeue: true, GoesOn: true}, {ID: "7", Name: "host", Nodes: "n-[1-2]", Requeue: true},
		{ID: "8", Name: "off", Nodes: "n-[1-2]", Requeue: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestKillSaysWhatWillHappen(t *testing.T) {
	const end = "see what happens: muster events -f\n"
	for _, row := range []struct {
		name   string
		answer killAnswer
		want   string
	}{
		{"jobs", killAnswer{Node: "n-1", PID: 7, Jobs: []killedJob{{ID: "1", Name: "tr\x1bain", Nodes: "n-[1-2]", Requeue: true}, {ID: "2", Name: "once", Nodes: "n-1"}, {ID: "3", Name: "s", Nodes: "n-[1-2]", Requeue: true, GoesOn: true}}},
			"job 1 (tr\\x1bain) on n-[1-2] goes back into the queue\njob 2 (once) on n-1 ends: it was submitted with --no-requeue\n" +
				"job 3 (s) on n-[1-2] goes on with its other nodes: it was submitted with --no-kill\n"},
		{"no_job", killAnswer{Node: "n-1", PID: 7}, "no job was on it\n"},
		{"blind", killAnswer{Node: "n-1", PID: 7, Blind: "no answer"}, "blind: which jobs it had is not known: no answer\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			want := "n-1: pulled the plug, process 7 and all that ran on it is dead\n" + row.want + end
			if diff := cmp.Diff(want, row.answer.text()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
