package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// oddLines are lines that no reader knows as progress.
func oddLines() string {
	var out strings.Builder
	for i := range 12 {
		fmt.Fprintf(&out, "round %d objective %.2f\n", i+1, 2.5-float64(i)/10)
	}
	return out.String()
}

// Show tells of a job that has written for a while that no line of it is known, and what would read which.
func TestShowTellsWhatItCannotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "train-7.out")
	const block = `
The job's output has no line of progress that muster knows.
  The likeliest lines, each with the line for the batch script that has it read:
    round 12 objective 1.40
      #MUSTER --log-pattern='^round *(?P<step>\d+).*?objective *(?P<loss>\S+)'
`
	const adopt = "  For this job: `muster job adopt 7 --log-pattern='^round *(?P<step>\\d+).*?objective *(?P<loss>\\S+)'`\n"
	running := slurm.Job{ID: 7, Name: "train", State: "RUNNING", StdOut: path, StdErr: path, NodeList: "n-1", StartTime: now.Add(-job.UnreadAfter), UID: os.Getuid()}
	early, ended, waiting := running, running, running
	early.StartTime = now.Add(-job.UnreadAfter + time.Second)
	ended.State, ended.EndTime = "COMPLETED", now
	waiting.State = "PENDING"
	for _, row := range []struct {
		name, log string
		job       slurm.Job
		kept      *client.JobReport
		want      string
	}{
		{"unknown_lines", oddLines(), running, nil, block + adopt},
		{"too_early", oddLines(), early, nil, ""},
		{"ended", oddLines(), ended, nil, block},
		{"waiting", oddLines(), waiting, nil, ""},
		{"progress", oddLines() + "Batch 3 Loss: 1.5, Speed: 2.0 samples/sec, lr: 0.1\n", running, nil, ""},
		{"known_by_the_keeper", oddLines(), running, &client.JobReport{Samples: []client.JobSample{{Step: 3}}}, ""},
		{"kept_without_progress", oddLines(), running, &client.JobReport{Phase: "starting"}, block + adopt},
		{"no_numbers", "hello\n", running, nil, "\nThe job's output has no line of progress that muster knows.\n" +
			"  No line has a number that rises from one to the next. Print the step and the loss in one line, such as \"step 10 loss 2.5\".\n"},
		{"no_numbers_and_ended", "hello\n", ended, nil, ""},
		{"no_output", "", running, nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(row.log), 0o600); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			a := &app{out: &out, err: io.Discard}
			s := slurm.Client{Runner: answers{}}
			answer := a.jobAnswer(t.Context(), s, job.View{Job: row.job})
			answer.Kept = row.kept
			answer.addUnread(t.Context(), s, row.job, now)
			if err := answer.write(a, now); err != nil {
				t.Fatal(err)
			}
			_, got, _ := strings.Cut(out.String(), "\nThe job's output has")
			if got != "" {
				got = "\nThe job's output has" + got
			}
			got, _, _ = strings.Cut(got, "\nRUN ")
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("it shows (-want +got):\n%s", diff)
			}
			if (answer.Unread != nil) != (row.want != "") {
				t.Errorf("as JSON it says %+v", answer.Unread)
			}
		})
	}
}

// Who follows a job is told the same, after two minutes of output.
func TestRunTellsWhatItCannotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, errs strings.Builder
		a := &app{out: &out, err: &errs}
		unheard := &job.Unheard{}
		to := hearing{a.out, unheard, "out"}
		tell := func() {
			a.tellUnread(7, unheard.Tell(time.Now(), func() string { return `turn (?P<step>\d+)` }))
		}
		tell()
		if _, err := io.WriteString(to, oddLines()); err != nil {
			t.Fatal(err)
		}
		wait := func(d time.Duration) {
			if err := pause.For(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		wait(job.UnreadAfter - time.Second)
		tell()
		if errs.Len() > 0 {
			t.Errorf("too early it says %q", errs.String())
		}
		wait(time.Second)
		tell()
		tell()
		_, got, _ := strings.Cut(errs.String(), "] ")
		want := `job 7 has written for 2 minutes without a line of progress that muster knows: its step, loss and speed are not known
  Its --log-pattern matches no line: turn (?P<step>\d+)
  The likeliest lines, each with the line for the batch script that has it read:
    round 12 objective 1.40
      #MUSTER --log-pattern='^round *(?P<step>\d+).*?objective *(?P<loss>\S+)'
`
		want += "  For this job: `muster job adopt 7 --log-pattern='^round *(?P<step>\\d+).*?objective *(?P<loss>\\S+)'`\n"
		if diff := cmp.Diff(want, got); diff != "" || out.String() != oddLines() {
			t.Errorf("it says (-want +got):\n%s", diff)
		}
	})
}

// TestProgressInAnEpoch: how many steps there will be is not known, and how many an epoch has is.
func TestProgressInAnEpoch(t *testing.T) {
	epoch := 1.0
	got := sampleText(client.JobSample{Step: 5045, Epoch: &epoch, EpochSteps: 5005})
	if want := "step 5045 in epoch 1 of 5005 steps"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := sampleText(client.JobSample{Step: 3, Steps: 10, Epoch: &epoch}); got != "step 3 of 10" {
		t.Errorf("got %q", got)
	}
}
