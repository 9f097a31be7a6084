package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/slurm"
)

// TestShowSaysWhyAJobFailed: one row more, where the log tells more than Slurm does.
func TestShowSaysWhyAJobFailed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "train-7.out")
	log := "step 1\nTraceback (most recent call last):\n  File \"t.py\", line 1, in <module>\n    import apex\nModuleNotFoundError: No module named 'apex'\n"
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	failed := slurm.Job{ID: 7, Name: "train", State: "FAILED", StdOut: path, StdErr: path, NodeList: "n-1", ExitCode: slurm.ExitCode{Code: 1}, StartTime: now, EndTime: now.Add(time.Minute)}
	cancelled, running := failed, failed
	cancelled.State, running.State = "CANCELLED", "RUNNING"
	for _, row := range []struct {
		name string
		job  slurm.Job
		kept *client.JobReport
		want string
	}{
		{"failed", failed, nil, "because it  could not import a module: ModuleNotFoundError: No module named 'apex' (train-7.out:5)\n"},
		{"kept", failed, &client.JobReport{Rounds: []client.JobRound{{Why: "x"}}}, ""},
		{"cancelled", cancelled, nil, ""},
		{"running", running, nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var out strings.Builder
			a := &app{out: &out, err: io.Discard}
			view := job.View{Job: row.job}
			answer := a.jobAnswer(t.Context(), slurm.Client{Runner: answers{}}, view)
			answer.Kept = row.kept
			answer.addCause(t.Context(), slurm.Client{Runner: answers{}}, view)
			if err := answer.write(a, now); err != nil {
				t.Fatal(err)
			}
			if shown := strings.Contains(out.String(), "because it"); shown != (row.want != "") || !strings.Contains(out.String(), row.want) {
				t.Errorf("it shows\n%s", out.String())
			}
		})
	}
}

func TestShowSaysWhereTheCurvesAre(t *testing.T) {
	for dir, want := range map[string]string{"/fsx/tensorboard/train-7": "\ncurves   /fsx/tensorboard/train-7\n", "/fsx/\x1b[2J": "\ncurves   /fsx/\\x1b[2J\n", "": ""} {
		var out strings.Builder
		answer := jobAnswer{Kept: &client.JobReport{Phase: "training", Curves: dir}}
		answer.keptRows(func(name, value string) { out.WriteString("\n" + name + "   " + value + "\n") }, now)
		if shown := strings.Contains(out.String(), "curves"); shown != (want != "") || !strings.Contains(out.String(), want) {
			t.Errorf("it shows\n%s", out.String())
		}
	}
}

// What was moved out of the way is shown with where it is, and a job that was stopped with why.
func TestShowSaysWhatMovedAside(t *testing.T) {
	aside := client.JobAside{Path: "/fsx/ck/checkpoint-15", Now: "/fsx/ck/torn.checkpoint.15.part", Why: "model.pt is \x1b[2J"}
	stopped := client.JobRound{Action: "stop", Because: "none of its checkpoints is whole"}
	for name, row := range map[string]struct {
		phase string
		last  client.JobRound
		want  string
	}{
		"stopped": {"waiting", stopped, "moved aside=/fsx/ck/checkpoint-15, to /fsx/ck/torn.checkpoint.15.part: model.pt is \\x1b[2J\nstopped, as=none of its checkpoints is whole\n"},
		"goes_on": {"training", stopped, "moved aside=/fsx/ck/checkpoint-15, to /fsx/ck/torn.checkpoint.15.part: model.pt is \\x1b[2J\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			answer := jobAnswer{Kept: &client.JobReport{Phase: row.phase, Rounds: []client.JobRound{{Aside: []client.JobAside{aside}}, row.last}}}
			answer.keptRows(func(name, value string) {
				if name == "moved aside" || name == "stopped, as" {
					out.WriteString(name + "=" + value + "\n")
				}
			}, now)
			if out.String() != row.want {
				t.Errorf("it shows\n%s, want\n%s", out.String(), row.want)
			}
		})
	}
}

// TestShowSaysWhatToDo: about an ending, whether the head node keeps the job or not.
func TestShowSaysWhatToDo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "train-7.out")
	log := "Traceback (most recent call last):\n  File \"t.py\", line 1, in <module>\nhuggingface_hub.errors.GatedRepoError: 401 Client Error.\n"
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	failed := slurm.Job{ID: 7, Name: "train", State: "FAILED", StdOut: path, StdErr: path, NodeList: "n-1", ExitCode: slurm.ExitCode{Code: 1}, StartTime: now, EndTime: now.Add(time.Minute)}
	for name, row := range map[string]struct {
		kept *client.JobReport
		want string
	}{
		"not_kept": {nil, "check its token (HF_TOKEN, WANDB_API_KEY)"},
		"kept":     {&client.JobReport{Rounds: []client.JobRound{{Why: "x", Hint: "do that"}}}, "do that\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			a := &app{out: &out, err: io.Discard}
			view := job.View{Job: failed}
			answer := a.jobAnswer(t.Context(), slurm.Client{Runner: answers{}}, view)
			answer.Kept = row.kept
			answer.addCause(t.Context(), slurm.Client{Runner: answers{}}, view)
			if err := answer.write(a, now); err != nil {
				t.Fatal(err)
			}
			if _, rest, ok := strings.Cut(out.String(), "to do"); !ok || !strings.HasPrefix(strings.TrimSpace(rest), strings.TrimSpace(row.want)) {
				t.Errorf("it shows\n%s", out.String())
			}
		})
	}
}
