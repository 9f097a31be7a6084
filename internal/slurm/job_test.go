package slurm

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseJobs(t *testing.T) {
	got, problems := ParseJobs(sample(t, "slurm-22.05.8", "scontrol-show-job-oneliner.txt"), time.UTC)
	if len(problems) > 0 || len(got) != 11 {
		t.Fatalf("got %d jobs, problems %v", len(got), problems)
	}
	want := Job{
		ID: 5, ArrayJobID: 3, ArrayTask: "1", Name: "sweep", User: "root", Group: "root", Account: "root", QOS: "normal", Priority: 4294901757, Partition: "gpu",
		State: "FAILED", Reason: "NonZeroExitCode", NodeList: "p5e-st-1", BatchHost: "p5e-st-1", NumNodes: 1, NumCPUs: 1, NumTasks: 1,
		Requeue: true, Batch: true, ExitCode: ExitCode{Code: 1},
		SubmitTime: at(t, "2026-11-20T20:34:06Z"), EligibleTime: at(t, "2026-11-20T20:34:10Z"),
		StartTime: at(t, "2026-11-20T20:34:10Z"), EndTime: at(t, "2026-11-20T20:34:12Z"),
		StdOut: "/home/user/run/jobs/slurm-3_1.out", StdErr: "/home/user/run/jobs/slurm-3_1.out",
		WorkDir: "/home/user/run/jobs", Command: "/home/user/run/jobs/arr.sbatch", TimeLimit: 5 * time.Minute,
		TRES: "cpu=1,node=1,billing=1",
	}
	got[3].TimeLimit = want.TimeLimit
	if diff := cmp.Diff(want, got[3]); diff != "" {
		t.Error(diff)
	}
	if got[3].Label() != "3_1" {
		t.Errorf("got label %q", got[3].Label())
	}
}

// TestParseJobsOfAllVersions reads each job's name, state and restarts, one
// line a job and many.
func TestParseJobsOfAllVersions(t *testing.T) {
	states := map[string]string{
		"ok-2node": "COMPLETED", "train-fail": "FAILED", "train-timeout": "TIMEOUT", "llama3-70b": "PENDING",
		"canceled": "CANCELLED", "nodefail": "NODE_FAIL", "waits-dep": "PENDING", "too-big": "PENDING",
	}
	for _, version := range versions {
		for _, file := range []string{"scontrol-show-job-oneliner.txt", "scontrol-show-job.txt"} {
			t.Run(version+"/"+file, func(t *testing.T) {
				jobs, problems := ParseJobs(sample(t, "slurm-"+version, file), time.UTC)
				if len(problems) > 0 {
					t.Fatal(problems)
				}
				found := map[string]Job{}
				for _, j := range jobs {
					found[j.Name] = j
				}
				for name, state := range states {
					if found[name].State != state {
						t.Errorf("job %q is %q, want %q", name, found[name].State, state)
					}
				}
				if j := found["llama3-70b"]; j.Restarts != 1 || j.Comment != "tfjob:run-42" || GPUs(j.TRES) != 16 || j.NumNodes != 2 {
					t.Errorf("llama3-70b: %+v", j)
				}
				if j := found["train-fail"]; j.ExitCode.Code != 13 || j.NodeList != "p5e-st-[1-2]" || j.StdErr != j.StdOut {
					t.Errorf("train-fail: %+v", j)
				}
				if j := found["too-big"]; !strings.HasPrefix(j.Reason, "Nodes_required_for_job_are_DOWN") || j.NumNodes != 4 {
					t.Errorf("too-big: %+v", j)
				}
			})
		}
	}
}

// TestParseJobsThatComplete reads jobs that Slurm cleans up after: two that are about to
// be queued again, the second without a time limit, and two that were cancelled and ran
// into their limit in their second run. The nodes that are released are counted, too.
func TestParseJobsThatComplete(t *testing.T) {
	var got []string
	for line := range bytes.Lines(sample(t, "slurm-22.05.8", "scontrol-show-job-completing.txt")) {
		jobs, problems := ParseJobs(line, time.UTC)
		if len(problems) > 0 || len(jobs) != 1 {
			t.Fatal(jobs, problems)
		}
		j := jobs[0]
		got = append(got, fmt.Sprintf("%s %s %v on %s of %d, %d CPUs", j.Label(), j.State, j.Again, j.NodeList, j.NumNodes, j.NumCPUs))
	}
	want := []string{
		"22 COMPLETING true on gpu-dy-p5e-1 of 2, 2 CPUs",
		"23 COMPLETING true on gpu-dy-p5e-1 of 1, 1 CPUs",
		"22 COMPLETING false on gpu-dy-p5e-1 of 2, 2 CPUs",
		"24 COMPLETING false on gpu-dy-p5e-1 of 1, 1 CPUs",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseJobsThatConfuse(t *testing.T) {
	jobs, problems := ParseJobs(sample(t, "slurm-22.05.8", "cloud", "job.txt"), time.UTC)
	find := func(id int) Job {
		i := slices.IndexFunc(jobs, func(j Job) bool { return j.ID == id })
		if i < 0 {
			t.Fatalf("job %d is missing; problems %v", id, problems)
		}
		return jobs[i]
	}
	if j := find(1); j.Name != "two words UserId=x" || j.User != "root" || j.Command != "/tmp/rec/j.sh a b c" || j.State != "RUNNING" {
		t.Errorf("job 1: %+v", j)
	}
	for _, j := range jobs {
		if j.ID == 3 || j.ID == 77 {
			t.Errorf("job %d can be read in two ways, or is made up, but was taken for %+v", j.ID, j)
		}
	}
	array := slices.IndexFunc(jobs, func(j Job) bool { return j.Name == "line\nbreak" && j.ArrayJobID == 2 })
	if array < 0 || jobs[array].State == "" {
		t.Errorf("the job with a line break in its name is missing: %+v", jobs)
	}
	if len(problems) != 2 {
		t.Errorf("got %d problems: %v", len(problems), problems)
	}
}

func TestParseJobsBadRows(t *testing.T) {
	const good = "JobId=1 JobName=a UserId=u(1) GroupId=g(1) MCS_label=N/A JobState=RUNNING ExitCode=0:0 SubmitTime=2026-01-01T00:00:00 Partition=q\n"
	cases := map[string]struct {
		output         string
		jobs, problems int
	}{
		"none":         {"No jobs in the system\n", 0, 0},
		"good":         {good, 1, 0},
		"twice":        {good + good, 0, 2},
		"half":         {good + "JobId=2 JobName=b", 1, 1},
		"bad_utf8":     {strings.Replace(good, "=a", "=\xff\xfe", 1), 1, 0},
		"bad_exitcode": {strings.Replace(good, "0:0", "x", 1), 0, 1},
		"bad_time":     {strings.Replace(good, "2026-01-01T", "today", 1), 0, 1},
		"bad_number":   {strings.Replace(good, "JobId=1", "JobId=x", 1), 0, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			jobs, problems := ParseJobs([]byte(c.output), time.UTC)
			if len(jobs) != c.jobs || len(problems) != c.problems {
				t.Errorf("got %d jobs, problems %v; want %d and %d", len(jobs), problems, c.jobs, c.problems)
			}
		})
	}
}

func TestLabel(t *testing.T) {
	cases := map[string]Job{
		"7":         {ID: 7},
		"9_3":       {ID: 12, ArrayJobID: 9, ArrayTask: "3"},
		"9_[4-7%2]": {ID: 9, ArrayJobID: 9, ArrayTask: "4-7%2"},
	}
	for want, job := range cases {
		if got := job.Label(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestGPUs(t *testing.T) {
	cases := map[string]int{
		"": 0, "cpu=2,node=2": 0, "cpu=2,gres/gpu=16": 16, "gres/gpu:h200=8,gres/gpu=8": 8, "gres/gpu:a=3,gres/gpu:b=2": 5,
	}
	for tres, want := range cases {
		if got := GPUs(tres); got != want {
			t.Errorf("GPUs(%q) = %d, want %d", tres, got, want)
		}
	}
}

func FuzzParseJobs(f *testing.F) {
	for _, version := range versions {
		f.Add(sample(f, "slurm-"+version, "scontrol-show-job-oneliner.txt"))
	}
	f.Add(sample(f, "slurm-22.05.8", "cloud", "job.txt"))
	f.Fuzz(func(t *testing.T, output []byte) {
		jobs, problems := ParseJobs(output, time.UTC)
		rows := strings.Count("\n"+strings.ToValidUTF8(string(output), "\uFFFD"), "\nJobId=")
		if len(jobs)+len(problems) != rows {
			t.Errorf("%d jobs and %d problems from %d rows", len(jobs), len(problems), rows)
		}
	})
}
