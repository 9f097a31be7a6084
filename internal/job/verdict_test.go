package job_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/slurm"
)

const traceback = `Traceback (most recent call last):
  File "train.py", line 3, in <module>
    import apex
ModuleNotFoundError: No module named 'apex'
`

// TestJudge says more than the accounting where a log does, and nothing else.
func TestJudge(t *testing.T) {
	requeued := "slurmstepd-n-1: error: *** JOB 7 ON n-1 CANCELLED AT 2026-11-20T20:34:36 DUE TO JOB REQUEUE ***\n"
	for _, row := range []struct {
		name, state, log, want string
		exit                   slurm.ExitCode
	}{
		{"import", "FAILED", "1: x\n" + traceback, "could not import a module: ModuleNotFoundError: No module named 'apex' (train.out:5)", slurm.ExitCode{Code: 1}},
		{"import_of_an_earlier_run", "FAILED", traceback + requeued + "1: x\n", "", slurm.ExitCode{Code: 1}},
		{"what_was_got_over", "FAILED", traceback + strings.Repeat("Batch 1 Loss: 7.00000, Speed: 1.20 samples/sec, lr: 0.000030\n", 5), "", slurm.ExitCode{Code: 1}},
		{"exit_code_alone", "FAILED", "srun: error: n-1: task 1: Exited with exit code 13\n", "", slurm.ExitCode{Code: 13}},
		{"cancelled", "CANCELLED", traceback, "", slurm.ExitCode{Signal: 15}},
		{"node_lost", "NODE_FAIL", traceback, "", slurm.ExitCode{Code: 1}},
		{"no_log", "FAILED", "", "", slurm.ExitCode{Code: 1}},
		{"no_restart", "FAILED", "", "asked not to be started again: the script ended with exit code 93 (accounting: ExitCode=93:0)", slurm.ExitCode{Code: 93}},
		{"long_log", "FAILED", strings.Repeat("step\n", 2<<20) + traceback, "could not import a module: ModuleNotFoundError: No module named 'apex' (train.out)", slurm.ExitCode{Code: 1}},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "train.out")
			if row.log != "" {
				if err := os.WriteFile(path, []byte(row.log), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			j := slurm.Job{ID: 7, State: row.state, NodeList: "n-[1-2]", ExitCode: row.exit, StdOut: path, StdErr: path, StartTime: time.Unix(100, 0), EndTime: time.Unix(200, 0)}
			signs, err := job.ReadSigns(j)
			if err != nil {
				t.Fatal(err)
			}
			if got := job.CauseText(job.Judge(job.View{Job: j}, nil, signs)); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// TestCauseText_of_a_step: a crash that accounting has of a step is said, one of the script's own not, since the job's ending says it.
func TestCauseText_of_a_step(t *testing.T) {
	for name, row := range map[string]struct{ step, want string }{
		"step":   {"0", "crashed: SIGSEGV (accounting: step 0 ExitCode=0:11)"},
		"script": {"batch", ""},
	} {
		t.Run(name, func(t *testing.T) {
			j := slurm.Job{ID: 7, State: "FAILED", NodeList: "n-[1-2]", ExitCode: slurm.ExitCode{Code: 139}, StartTime: time.Unix(100, 0), EndTime: time.Unix(200, 0)}
			steps := []slurm.Step{{Name: row.step, State: "FAILED", ExitCode: slurm.ExitCode{Signal: 11}, Start: j.StartTime, NodeList: j.NodeList}}
			if got := job.CauseText(job.Judge(job.View{Job: j}, steps, nil)); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// TestElapsed_while_slurm_cleans_up: a job that has ended takes no longer because Slurm cleans up after it.
func TestElapsed_while_slurm_cleans_up(t *testing.T) {
	j := slurm.Job{State: "COMPLETING", StartTime: time.Unix(100, 0), EndTime: time.Unix(174, 0)}
	if got := job.Elapsed(j, time.Unix(196, 0)); got != 74*time.Second {
		t.Errorf("it took %s", got)
	}
}
