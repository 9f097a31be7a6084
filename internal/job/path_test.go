package job

import (
	"slices"
	"testing"

	"github.com/muster-hpc/muster/internal/slurm"
)

func TestPaths(t *testing.T) {
	task := slurm.Run{ID: 12, Label: "9_3", Name: "sweep", User: "ann", NodeList: "q-[4-5]", WorkDir: "/w"}
	job := slurm.Run{ID: 12, Label: "12", Name: "train", User: "ann", WorkDir: "/w"}
	cases := map[string]struct {
		run            slurm.Run
		options        string
		stdout, stderr string
	}{
		"default":          {job, "", "/w/slurm-12.out", "/w/slurm-12.out"},
		"default_of_array": {task, "", "/w/slurm-9_3.out", "/w/slurm-9_3.out"},
		"both":             {job, "-o a.out --error=/e/%j.err", "/w/a.out", "/e/12.err"},
		"patterns":         {task, "-o %x-%5j-%A-%3a-%u-%N-%%.out", "/w/sweep-00012-9-003-ann-q-4-%.out", "/w/sweep-00012-9-003-ann-q-4-%.out"},
		"no_node":          {job, "-o %N.out", "", ""},
		"unknown_pattern":  {job, "-o %z.out -e %j.err", "", "/w/12.err"},
		"pattern_cut":      {job, "-o a%", "", ""},
		"width_too_large":  {job, "-o %99j", "/w/0000000012", "/w/0000000012"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			stdout, stderr := outputPaths([]byte("#!/bin/sh\n#SBATCH "+c.options+"\n"), c.run)
			if stdout != c.stdout || stderr != c.stderr {
				t.Errorf("got %q and %q, want %q and %q", stdout, stderr, c.stdout, c.stderr)
			}
		})
	}
}

func TestResolved(t *testing.T) {
	j := resolved(slurm.Job{ID: 7, BatchHost: "q-1", StdOut: "/w/%5j-%N.out", StdErr: "/w/%z"})
	if j.StdOut != "/w/00007-q-1.out" || j.StdErr != "/w/%z" {
		t.Errorf("got %q and %q", j.StdOut, j.StdErr)
	}
}

func TestResolvedOfAnArray(t *testing.T) {
	for task, want := range map[string]string{"0": "/w/o", "12": "/w/o", "3-7%2": "", "1,3": "", "": ""} {
		if got := resolved(slurm.Job{ID: 7, ArrayJobID: 7, ArrayTask: task, StdOut: "/w/o"}).StdOut; got != want {
			t.Errorf("task %q: got %q, want %q", task, got, want)
		}
	}
}

func TestAppends(t *testing.T) {
	for options, want := range map[string]bool{
		"": false, "--open-mode=append": true, "--open-mode=A": true, "--open-mode=truncate": false, "--open-mode=append -o %j.out": true, "--open-mode=append -o %N.out": false,
	} {
		if got := Appends([]byte("#!/bin/sh\n#SBATCH " + options + "\n")); got != want {
			t.Errorf("%s: got %v", options, got)
		}
	}
}

func TestCheckpointDirs(t *testing.T) {
	got := CheckpointDirs([]byte("#!/bin/sh\n#MUSTER --checkpoints=ck/ --checkpoints=/fsx/ck\n"), slurm.Run{WorkDir: "/w"})
	if want := []string{"/w/ck", "/fsx/ck"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
