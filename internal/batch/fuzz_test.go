package batch_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/sys/growth"
)

// FuzzCheck: whatever a file holds, a check ends, and every problem has
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

// TestCheck_of_much ends alive, and in proportion, on files that are as large as Slurm takes
// them, and as deep.
func TestCheck_of_much(t *testing.T) {
	facts := factsOfFile(t, "testdata/cluster.yaml")
	for name, shell := range map[string]struct {
		n          int
		head, many string
		then       string
	}{
		"nested":      {1 << 20, "", "$(", ""},
		"arithmetic":  {1 << 20, "x=$((", "(", ""},
		"subshells":   {1 << 17, "", ")", "(\n"},
		"signs":       {1 << 18, "x=$((", "-", ""},
		"conditions":  {1 << 14, "", "if a; then ", ""},
		"commands":    {1 << 13, "", "srun python train.py --x=/fsx4/a\n", ""},
		"words":       {1 << 15, "echo ", "/fsx4/a ", ""},
		"assignments": {1 << 14, "", "export NCCL_IFNAME=$A$B\n", ""},
		"options":     {1 << 17, "", "#SBATCH --nodes=2 -N2 --node=3\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			growth.Linear(t, shell.n, func(n int) {
				text := "#!/bin/bash\n" + shell.head + strings.Repeat(shell.many, n) + strings.Repeat(shell.then, n)
				if list := batch.Check("s", []byte(text), nil, facts); list.Len() == 0 {
					t.Error("nothing is reported")
				}
			})
		})
	}
}
