package batch_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/batch"
)

// FuzzCheck: whatever a file holds, a check ends soon, and every problem has
// words and stands in the file.
func FuzzCheck(f *testing.F) {
	f.Add([]byte("#!/bin/bash\n#SBATCH -N 4 --gres=gpu:9 \"x # \\\n#SBATCH --mem=1T -p a,b -c 3 --ntasks-per-node=9\necho"))
	f.Add([]byte("#!/bin/bash\r\n#SBATCH -N\n"))
	for _, path := range scripts(f) {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	data, err := os.ReadFile("testdata/cluster.yaml")
	if err != nil {
		f.Fatal(err)
	}
	facts := factsIn(f, data)
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 1<<16 {
			return
		}
		start := time.Now()
		lines := bytes.Split(script, []byte("\n"))
		facts := *facts
		facts.Lacking, facts.Rehearsal = batch.Lacking{}, true
		for _, thing := range batch.Things("s", script, nil) {
			facts.Lacking[thing] = true
		}
		for _, d := range batch.Check("s", script, nil, &facts).All() {
			if d.Message == "" || !strings.HasPrefix(d.Code, "script/") || strings.ContainsAny(d.Message+d.Hint, "\n\r") || !utf8.ValidString(d.Message) {
				t.Errorf("a problem without good words: %+v", d)
			}
			if d.Line < 0 || d.Line > len(lines) || d.Line > 0 && d.Column > utf8.RuneCount(lines[d.Line-1])+1 {
				t.Errorf("a problem that is not in the file: %+v", d)
			}
			if strings.ContainsRune(d.Message+d.Hint, '\uE000') {
				t.Errorf("what is not known is shown as if it were: %+v", d)
			}
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// scripts are whole scripts to begin with.
func scripts(f *testing.F) []string {
	f.Helper()
	guides, _ := filepath.Glob("testdata/guides/*.sbatch")
	examples, _ := filepath.Glob("../../examples/train/*.sbatch")
	if len(guides) == 0 || len(examples) == 0 {
		f.Fatal("there are no scripts")
	}
	return append(guides, examples...)
}

// BenchmarkCheck checks the longest script of the guides.
func BenchmarkCheck(b *testing.B) {
	data, err := os.ReadFile("testdata/guides/model1-training.sbatch")
	if err != nil {
		b.Fatal(err)
	}
	cluster, err := os.ReadFile("testdata/cluster.yaml")
	if err != nil {
		b.Fatal(err)
	}
	facts := factsIn(b, cluster)
	for b.Loop() {
		batch.Check("s", data, nil, facts)
	}
}

// TestCheck_of_much ends soon and alive on files that are as large as Slurm takes
// them, and as deep.
func TestCheck_of_much(t *testing.T) {
	facts := factsOfFile(t, "testdata/cluster.yaml")
	for name, shell := range map[string]string{
		"nested":      strings.Repeat("$(", 1<<20),
		"arithmetic":  "x=$((" + strings.Repeat("(", 1<<20),
		"subshells":   strings.Repeat(")", 1<<17) + strings.Repeat("(\n", 1<<17),
		"signs":       "x=$((" + strings.Repeat("-", 1<<18),
		"conditions":  strings.Repeat("if a; then ", 1<<14),
		"commands":    strings.Repeat("srun python train.py --x=/fsx4/a\n", 1<<13),
		"words":       "echo " + strings.Repeat("/fsx4/a ", 1<<15),
		"assignments": strings.Repeat("export NCCL_IFNAME=$A$B\n", 1<<14),
		"options":     strings.Repeat("#SBATCH --nodes=2 -N2 --node=3\n", 1<<17),
	} {
		start := time.Now()
		if list := batch.Check("s", []byte("#!/bin/bash\n"+shell), nil, facts); list.Len() == 0 {
			t.Errorf("%s: nothing is reported", name)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: it took %s", name, took)
		}
	}
}
