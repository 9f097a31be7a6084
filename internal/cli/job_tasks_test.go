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
	answer := jobAnswer{ID: 9, Label: "9_3"}
	if err := answer.addTasks(t.Context(), client, "9"); err != nil {
		t.Fatal(err)
	}
	if err := answer.writeTasks(&app{out: &out}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "\narray 9, of which this is one:\nTASK  STATE ") || strings.Count(got, "\n") != 6 {
		t.Errorf("it shows\n%s", got)
	}
}
