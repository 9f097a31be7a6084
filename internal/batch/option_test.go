package batch

import (
	"testing"

	"github.com/google/go-cmp/cmp"
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
		{"job-name", "two words", 9, 9}, {"unknown", "", 9, 32}, {"ntasks-per-node", "2", 9, 44}, {"nodes", "", 10, 9},
	}
	var got []d
	for _, x := range Directives([]byte(script)) {
		got = append(got, d{x.Name, x.Value, x.Place.Line, x.Place.Column})
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(d{})); diff != "" {
		t.Error(diff)
	}
	if got := Directives([]byte("#!/bin/sh\n#SBATCH -N 2\n#SBATCH hetjob\n#SBATCH -N 4\n")); got != nil {
		t.Errorf("got %v of a job of two parts", got)
	}
}

func TestFlags(t *testing.T) {
	want := []string{"--nodes=2", "--comment=a b", "-c", "3"}
	if diff := cmp.Diff(want, Flags([]string{"--nodes=2 --comment='a b'", "-c 3", ""})); diff != "" {
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
