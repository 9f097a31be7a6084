package cause_test

import (
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/job/cause"
	"github.com/muster-hpc/muster/internal/job/trainlog"
)

// A program that is not there is not started again, whoever says so. Lines are Python 3.11.2's and bash 5.2.15's.
func TestProgramsThatAreNotThere(t *testing.T) {
	const (
		torch = "python3: Error while finding module specification for 'torch.distributed.run' (ModuleNotFoundError: No module named 'torch')\n"
		path  = "/usr/bin/python3: can't open file '/x/nothere.py': [Errno 2] No such file or directory\n"
		foo   = "train.sh: line 3: foo: command not found\n"
		bar   = "train.sh: line 4: bar: command not found\n"
	)
	for _, row := range []struct {
		name, log string
		code      int
		class     cause.Class
		action    cause.Action
		text      string
	}{
		{"module", torch, 1, cause.ImportError, cause.Stop, "No module named 'torch'"},
		{"module_of_ranks", "0: " + torch + "1: " + torch + "srun: error: n1: tasks 0-1: Exited with exit code 1\n", 1, cause.ImportError, cause.Stop, "No module named 'torch'"},
		{"short_module", "/usr/bin/python3: No module named x\n", 1, cause.ImportError, cause.Stop, "No module named x"},
		{"file", path, 2, cause.MissingFile, cause.Stop, "nothere.py"},
		{"file_of_ranks", "0: " + path + "1: " + path, 2, cause.MissingFile, cause.Stop, "nothere.py"},
		{"stale", strings.Replace(path, "[Errno 2] No such file or directory", "[Errno 116] Stale file handle", 1), 2, cause.Storage, cause.Here, "Stale"},
		{"command", foo, 127, cause.CannotStart, cause.Stop, "foo: command not found"},
		{"command_of_a_rank", "3: " + foo, 127, cause.CannotStart, cause.Stop, "foo: command not found"},
		{"the_last_command", foo + bar, 127, cause.CannotStart, cause.Stop, "bar: command not found"},
		{"may_not", "train.sh: line 3: ./p: Permission denied\n", 126, cause.CannotStart, cause.Stop, "./p: Permission denied"},
		{"went_on", foo, 1, cause.Unknown, cause.Here, "exit code 1"},
		{"another_code", foo, 126, cause.CannotStart, cause.Stop, "a program that cannot be run"},
	} {
		t.Run(row.name, func(t *testing.T) {
			e, reader := failed(row.code), &trainlog.Reader{}
			for _, s := range append(reader.Feed([]byte(row.log)).Signs, reader.End().Signs...) {
				e.Signs = append(e.Signs, cause.Sign{File: "job.out", Sign: s})
			}
			v := cause.Judge(e)
			if v.Class != row.class || v.Action != row.action || !strings.Contains(v.Text, row.text) {
				t.Errorf("got %s, %s: %s (%+v)", v.Class, v.Action, v.Text, v.Findings)
			}
		})
	}
}

// Slurm keeps the highest exit code of any step as the job's own, those of runs before with it.
func TestCompletedAfterAStepOfARunBefore(t *testing.T) {
	for _, row := range []struct {
		name  string
		steps []cause.Step
		want  string
	}{
		{"all_well", []cause.Step{{Name: "batch", State: "COMPLETED"}, {Name: "0", State: "COMPLETED"}}, "completed"},
		{"no_step_is_known", nil, "completed"},
		{"one_failed", []cause.Step{{Name: "batch", State: "COMPLETED"}, {Name: "0", State: "FAILED", Exit: cause.Exit{Code: 2}}, {Name: "1", State: "COMPLETED"}},
			"completed: a step of it failed with exit code 2, and its script did not say so"},
	} {
		e := state("COMPLETED", 0, 0)
		e.Run.Steps, e.Run.Derived = row.steps, cause.Exit{Code: 1}
		if v := cause.Judge(e); v.Class != cause.Completed || v.Text != row.want {
			t.Errorf("%s: %s: %q", row.name, v.Class, v.Text)
		}
	}
}

// TestJudge_of_JobLaunchFailure: Slurm gives this reason to jobs that it could not launch, and to those whose script a signal ended.
func TestJudge_of_JobLaunchFailure(t *testing.T) {
	for name, row := range map[string]struct {
		e    cause.Evidence
		want cause.Class
	}{
		"not_launched":      {failed(1), cause.LaunchFailed},
		"ended_by_a_signal": {with(state("FAILED", 0, 6), sign(trainlog.NCCLTimeout, 0, "ALLREDUCE", "Watchdog caught collective operation timeout")), cause.Collective},
	} {
		t.Run(name, func(t *testing.T) {
			row.e.Run.Reason = "JobLaunchFailure"
			if v := cause.Judge(row.e); v.Class != row.want {
				t.Errorf("got %s, %q; want %s", v.Class, v.Text, row.want)
			}
		})
	}
}
