package job_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/job"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

// recorded is what a program of a version of Slurm printed.
func recorded(t *testing.T, version, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "slurm", "testdata", "slurm-"+version, file))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestWordsForRecordedJobs holds what users read about jobs of three versions of
// Slurm: in the queue, and run by run in the history.
func TestWordsForRecordedJobs(t *testing.T) {
	var b strings.Builder
	for _, version := range []string{"22.05.8", "23.11.10", "25.11.7"} {
		jobs, problems := slurm.ParseJobs(recorded(t, version, "scontrol-show-job.txt"), time.UTC)
		runs, more := slurm.ParseHistory(recorded(t, version, "sacct-P.txt"), "|", time.UTC)
		if len(problems)+len(more) > 0 {
			t.Fatal(problems, more)
		}
		fmt.Fprintf(&b, "Slurm %s\n", version)
		for _, j := range jobs {
			fmt.Fprintf(&b, "  scontrol %s %s: %s\n", j.Label(), j.Name, job.State(job.View{Job: j}))
		}
		for _, r := range runs {
			fmt.Fprintf(&b, "  sacct %s %s: %s\n", r.Label, r.Name, job.RunEnding(r).Text)
		}
	}
	golden.Check(t, "recorded.txt", b.String())
}

// TestRunEnding_of_one_that_lost_a_node: a job with --no-kill has another run after it.
func TestRunEnding_of_one_that_lost_a_node(t *testing.T) {
	r := slurm.Run{ID: 8, State: "RESIZING", NodeList: "q-[1-3]"}
	if got := job.RunEnding(r); got.Text != "went on with fewer nodes" || got.OK || !r.Ended() {
		t.Errorf("%+v, ended %v", got, r.Ended())
	}
}

// TestAttempts_of_one_that_lost_nodes: slurmctld says when it began with all of them.
func TestAttempts_of_one_that_lost_nodes(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(1_700_000_000+second, 0) }
	runs := []slurm.Run{
		{ID: 8, State: "REQUEUED", Start: at(0), End: at(9), NodeList: "q-[1-4]"},
		{ID: 8, State: "RESIZING", Start: at(20), End: at(30), NodeList: "q-[1-4]"},
		{ID: 8, State: "RESIZING", Start: at(30), End: at(30), NodeList: "q-[1-3]"},
		{ID: 8, State: "RUNNING", Start: at(30), NodeList: "q-[1-2]"},
	}
	j := slurm.Job{ID: 8, State: "RUNNING", StartTime: at(20), NodeList: "q-[1-2]", Restarts: 1}
	got := job.Attempts(runs, j)
	if len(got) != 4 || got[3].State != "RUNNING" || !got[3].Start.Equal(at(30)) {
		t.Errorf("%+v", got)
	}
}

func TestEndingOf(t *testing.T) {
	lost := []job.Lost{{Node: "q-2", Reason: "the instance ended"}}
	cases := map[string]struct {
		view       job.View
		ok         bool
		text, hint string
	}{
		"completed": {job.View{Job: slurm.Job{State: "COMPLETED"}}, true, "completed", ""},
		"exit_code": {job.View{Job: slurm.Job{State: "FAILED", ExitCode: slurm.ExitCode{Code: 13}}}, false, "failed with exit code 13", ""},
		"exit_code_of_a_signal": {job.View{Job: slurm.Job{State: "FAILED", ExitCode: slurm.ExitCode{Code: 137}}}, false,
			"failed with exit code 137, which stands for signal 9 (SIGKILL)", ""},
		"large_exit_code": {job.View{Job: slurm.Job{State: "FAILED", ExitCode: slurm.ExitCode{Code: 255}}}, false, "failed with exit code 255", ""},
		"signal": {job.View{Job: slurm.Job{State: "FAILED", ExitCode: slurm.ExitCode{Signal: 11}}}, false,
			"was ended by signal 11 (SIGSEGV)", ""},
		"hangup": {job.View{Job: slurm.Job{State: "FAILED", Batch: true, NodeList: "q-1", ExitCode: slurm.ExitCode{Signal: 1}}}, false,
			"was ended by signal 1 (SIGHUP)", ""},
		"srun_without_its_step": {job.View{Job: slurm.Job{State: "FAILED", NodeList: "q-1", ExitCode: slurm.ExitCode{Signal: 1}}}, false,
			"failed: srun could not start its tasks, or signal 1 (SIGHUP) ended them", ""},
		"refused": {job.View{Job: slurm.Job{State: "FAILED", Reason: "BadConstraints", ExitCode: slurm.ExitCode{Code: 1}}}, false,
			"was refused by Slurm: no node has what it asks for", ""},
		"refused_in_the_history": {job.View{Job: slurm.Job{State: "FAILED", ExitCode: slurm.ExitCode{Code: 1}}}, false, "was refused by Slurm", ""},
		"no_code":                {job.View{Job: slurm.Job{State: "FAILED", Reason: "Job_Launch_Failure"}}, false, "failed (Job Launch Failure)", ""},
		"output_folder": {job.View{Job: slurm.Job{State: "FAILED", User: "ann", StdOut: "/logs/1.out", WorkDir: "/w", ExitCode: slurm.ExitCode{Signal: 53}}}, false,
			"could not be started: Slurm could not open its output file or enter its working directory",
			"do the folder of /logs/1.out and /w exist on every node, and may ann write there?"},
		"timeout": {job.View{Job: slurm.Job{State: "TIMEOUT", TimeLimit: time.Hour}}, false, "ran into its time limit of 1:00:00",
			"ask for more time with #SBATCH --time=HH:MM:SS"},
		"node": {job.View{Job: slurm.Job{State: "NODE_FAIL"}, Lost: lost}, false,
			"ended because node q-2 failed (the instance ended)", "with #SBATCH --requeue Slurm would start it again"},
		"nodes": {job.View{Job: slurm.Job{State: "NODE_FAIL", Requeue: true}, Lost: append(lost, job.Lost{Node: "q-3"})}, false,
			"ended because nodes q-[2-3] failed (the instance ended)", ""},
		"some_node":          {job.View{Job: slurm.Job{State: "NODE_FAIL", Requeue: true}}, false, "ended because a node failed", ""},
		"cancelled":          {job.View{Job: slurm.Job{State: "CANCELLED"}}, false, "was cancelled", ""},
		"memory":             {job.View{Job: slurm.Job{State: "OUT_OF_MEMORY"}}, false, "ran out of memory", "ask for more memory with #SBATCH --mem=SIZE"},
		"of_a_later_version": {job.View{Job: slurm.Job{State: "ABDUCTED"}}, false, "ended as ABDUCTED", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := job.EndingOf(c.view)
			want := job.Ending{State: c.view.Job.State, OK: c.ok, Text: c.text, Hint: c.hint}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestWordsForJobsOfSrun: what reads as signal 1 in slurmctld is often none.
func TestWordsForJobsOfSrun(t *testing.T) {
	jobs, problems := slurm.ParseJobs(recorded(t, "22.05.8", "scontrol-show-job-srun.txt"), time.UTC)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var got []string
	for _, j := range jobs {
		got = append(got, fmt.Sprintf("%d (%s) %s", j.ID, j.ExitCode, job.State(job.View{Job: j})))
	}
	want := []string{
		"60 (1:0) was refused by Slurm: no node has what it asks for",
		"78 (0:1) failed: srun could not start its tasks, or signal 1 (SIGHUP) ended them",
		"39 (0:1) failed: srun could not start its tasks, or signal 1 (SIGHUP) ended them",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSpan(t *testing.T) {
	cases := map[time.Duration]string{
		-time.Second: "0:00", 0: "0:00", 7 * time.Second: "0:07", 61 * time.Second: "1:01",
		time.Hour + 2*time.Minute + 3*time.Second: "1:02:03", 48*time.Hour + 30*time.Minute: "2-00:30:00",
	}
	for d, want := range cases {
		if got := job.Span(d); got != want {
			t.Errorf("Span(%s) = %q, want %q", d, got, want)
		}
	}
}
