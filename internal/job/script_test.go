package job

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/slurm"
)

func TestDirectives(t *testing.T) {
	const script = `#!/bin/bash
#SBATCH --nodes=4
# a comment
#SBATCH -N8 --gres gpu:2 -c 3	--mem="4 G" # --nodes=9
  #SBATCH --nodes=5
#SBATCHES --nodes=6
##SBATCH --nodes=7

#SBATCH --job-name "two words" --unknown x --ntasks-per-node=2
#SBATCH --nodes
echo
#SBATCH --nodes=10
`
	type d struct {
		name, value  string
		line, column int
	}
	want := []d{
		{"nodes", "4", 2, 9}, {"nodes", "8", 4, 9}, {"gres", "gpu:2", 4, 13}, {"cpus-per-task", "3", 4, 26}, {"mem", "4 G", 4, 31},
		{"ntasks-per-node", "2", 9, 44},
	}
	var got []d
	for _, x := range directives("s", []byte(script)) {
		got = append(got, d{x.name, x.value, x.place.Line, x.place.Column})
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(d{})); diff != "" {
		t.Error(diff)
	}
	if got := directives("s", []byte("#!/bin/sh\n#SBATCH -N 2\n#SBATCH hetjob\n#SBATCH -N 4\n")); got != nil {
		t.Errorf("got %v of a job of two parts", got)
	}
}

func TestOptions(t *testing.T) {
	want := []string{"--nodes=2", "--comment=a b", "-c", "3"}
	if diff := cmp.Diff(want, Options([]string{"--nodes=2 --comment='a b'", "-c 3", ""})); diff != "" {
		t.Error(diff)
	}
}

func TestValues(t *testing.T) {
	for text, want := range map[string]int{"4": 4, "4-8": 4, "2k": 2048, "": 0, "x": 0, "-3": 0, "99999999": 0} {
		if got := nodeCount(text); got != want {
			t.Errorf("nodeCount(%q) = %d, want %d", text, got, want)
		}
	}
	for text, want := range map[string]int{"4000": 4000, "4000M": 4000, "1025K": 2, "64G": 64 << 10, "2TB": 2 << 20, "0": 0, "5%": 0, "": 0} {
		if got := memoryMiB(text); got != want {
			t.Errorf("memoryMiB(%q) = %d, want %d", text, got, want)
		}
	}
	type gpus struct {
		kind string
		n    int
		ok   bool
	}
	for text, want := range map[string]gpus{
		"gpu": {"", 1, true}, "gpu:8": {"", 8, true}, "gpu:h200:8": {"h200", 8, true}, "gpu:h200": {"h200", 1, true},
		"gres:gpu:2": {"", 2, true}, "nvme:1,gpu:2": {"", 2, true}, "gpu:h200:8(S:0-1)": {"h200", 8, true},
		"nvme:1": {}, "": {}, "gpu:0": {}, "gpu:h200:x": {}, "gpu:a:b:1": {}, "none": {},
	} {
		kind, n, ok := gres(text)
		if got := (gpus{kind, n, ok}); got != want {
			t.Errorf("gres(%q) = %+v, want %+v", text, got, want)
		}
	}
}

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
			stdout, stderr := OutputPaths([]byte("#!/bin/sh\n#SBATCH "+c.options+"\n"), c.run)
			if stdout != c.stdout || stderr != c.stderr {
				t.Errorf("got %q and %q, want %q and %q", stdout, stderr, c.stdout, c.stderr)
			}
		})
	}
}

func TestResolved(t *testing.T) {
	j := Resolved(slurm.Job{ID: 7, BatchHost: "q-1", StdOut: "/w/%5j-%N.out", StdErr: "/w/%z"})
	if j.StdOut != "/w/00007-q-1.out" || j.StdErr != "/w/%z" {
		t.Errorf("got %q and %q", j.StdOut, j.StdErr)
	}
}

func TestResolvedOfAnArray(t *testing.T) {
	for task, want := range map[string]string{"0": "/w/o", "12": "/w/o", "3-7%2": "", "1,3": "", "": ""} {
		if got := Resolved(slurm.Job{ID: 7, ArrayJobID: 7, ArrayTask: task, StdOut: "/w/o"}).StdOut; got != want {
			t.Errorf("task %q: got %q, want %q", task, got, want)
		}
	}
}

func FuzzCheckScript(f *testing.F) {
	f.Add([]byte("#!/bin/bash\n#SBATCH -N 4 --gres=gpu:9 \"x # \\\n#SBATCH --mem=1T -p a,b -c 3 --ntasks-per-node=9\necho"))
	f.Add([]byte("#!/bin/bash\r\n#SBATCH -N\n"))
	facts := Facts{
		Partitions: []slurm.Partition{{Name: "q", Default: true}},
		Nodes:      []slurm.Node{{Name: "q-1", Partitions: []string{"q"}, CPUs: 4, MemoryMiB: 1000, Gres: "gpu:h200:8(S:0)"}},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, d := range CheckScript("s", data, nil, facts).All() {
			if d.Severity != diag.Error || d.Message == "" || d.Code == "" {
				t.Errorf("a problem without words: %+v", d)
			}
		}
	})
}
