package cli

import (
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/slurm"
)

func TestTasksOfAnArray(t *testing.T) {
	rows := "JobId=9 ArrayJobId=9 ArrayTaskId=3 JobName=a" + jobRow + "JobState=RUNNING Requeue=1 NodeList=n-3\n" +
		"JobId=10 ArrayJobId=9 ArrayTaskId=1 JobName=a" + jobRow + "JobState=RUNNING Requeue=1 NodeList=n-1\n" +
		"JobId=12 ArrayJobId=9 ArrayTaskId=2 JobName=a" + jobRow + "JobState=PENDING Requeue=1 NodeList=(null)\n" +
		"JobId=91 JobName=b" + jobRow + "JobState=RUNNING Requeue=1 NodeList=n-4\n"
	client := slurm.Client{Runner: answers{"show job": rows}}
	for id, want := range map[string]string{"9": "9_1 9_2 9_3", "9_3": "", "91": ""} {
		answer := jobAnswer{ID: 9, Label: "9_3"}
		if id == "91" {
			answer = jobAnswer{ID: 91, Label: "91"}
		}
		if err := answer.addTasks(t.Context(), client, id); err != nil {
			t.Fatal(err)
		}
		var labels []string
		for _, r := range answer.Tasks {
			labels = append(labels, r.Label)
		}
		if got := strings.Join(labels, " "); got != want {
			t.Errorf("job show %s: tasks %q, want %q", id, got, want)
		}
	}
	var out strings.Builder
	answer := jobAnswer{ID: 9, Label: "9_3", Ended: true, Completed: true}
	if err := answer.addTasks(t.Context(), client, "9"); err != nil {
		t.Fatal(err)
	}
	if answer.Ended || answer.Completed {
		t.Error("an array of which tasks run has ended")
	}
	if got, want := answer.arrayText(), "1 PENDING, 2 RUNNING; what follows is of task 9_3"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := answer.writeTasks(&app{out: &out}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "\narray 9, of which this is one:\nTASK  STATE ") || strings.Count(got, "\n") != 6 {
		t.Errorf("it shows\n%s", got)
	}
}

// TestTaskShown: who asks for an array is told which of its tasks he gets.
func TestTaskShown(t *testing.T) {
	task := slurm.Job{ID: 9, ArrayJobID: 9, ArrayTask: "3"}
	for _, row := range []struct {
		asked  string
		job    slurm.Job
		follow bool
		quiet  bool
		want   string
	}{
		{"9", task, false, false, "muster: job 9 is an array; this is task 9_3: `muster job show 9` lists them all, and `muster job logs 9_TASK` prints one's output\n"},
		{"9", task, true, false, "muster: job 9 is an array; this is task 9_3: `muster job show 9` lists them all, and `muster job logs -f 9_TASK` follows another\n"},
		{"9", task, true, true, ""},
		{"9_3", task, false, false, ""},
		{"12", slurm.Job{ID: 12, ArrayJobID: 9, ArrayTask: "1"}, true, false, ""},
		{"9", slurm.Job{ID: 9, ArrayJobID: 9, ArrayTask: "1-3"}, false, false, ""},
		{"9", slurm.Job{ID: 9, ArrayJobID: 9, ArrayTask: "1-3%2"}, true, false, "muster: job 9 is an array whose tasks 1-3%2 wait; this follows the one of them that starts last: " +
			"`muster job show 9` lists them all, and `muster job logs -f 9_TASK` follows another\n"},
		{"9", slurm.Job{ID: 9}, true, false, ""},
	} {
		var said strings.Builder
		say := (*app).sayTask
		if row.follow {
			say = (*app).sayFollowed
		}
		say(&app{err: &said, quiet: row.quiet}, row.asked, row.job)
		if got := said.String(); got != row.want {
			t.Errorf("job logs %s of %s says %q, want %q", row.asked, row.job.Label(), got, row.want)
		}
	}
}
