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
		for _, d := range batch.Check("s", script, nil, facts).All() {
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
