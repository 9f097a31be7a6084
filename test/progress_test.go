package test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestProgress has jobs print, line by line, what programs print that people train with, and looks at them while they run: what `muster
// job show` says of a step and a loss is what the last line says.
func TestProgress(t *testing.T) {
	t.Parallel()
	const cases = "../internal/job/trainlog/testdata/progress"
	logs, err := filepath.Glob(filepath.Join(cases, "*.log"))
	if err != nil || len(logs) < 13 {
		t.Fatalf("%d logs, %v", len(logs), err)
	}
	c := newCluster(t, fileOf(1))
	if err := os.CopyFS(filepath.Join(c.dir, "logs"), os.DirFS(cases)); err != nil {
		t.Fatal(err)
	}
	c.file("print.sh", "#!/bin/bash\nwhile IFS= read -r line; do printf '%s\\n' \"$line\"; sleep 0.05; done <\"logs/$1.log\"\nuntil [[ -e go ]]; do sleep 0.5; done\n")
	jobs := map[string]string{}
	for _, log := range logs {
		name := strings.TrimSuffix(filepath.Base(log), ".log")
		id := c.head("sbatch", "--parsable", "--job-name="+name, "--output="+name+".out", "--ntasks=1", "--mem=0", "print.sh", name)
		jobs[name] = strings.TrimSpace(id)
	}
	for name, id := range jobs {
		steps := int64(40)
		if name == "litgpt" { // its steps are of two batches
			steps = 20
		}
		var said string
		c.await(name+" has come to its last step", 2*time.Minute, func() bool {
			said = c.must("job", "show", id, "-o", "json")
			var shown struct {
				State    string
				Progress *struct {
					Step *int64
					Loss *float64
				}
			}
			if err := json.Unmarshal([]byte(said), &shown); err != nil {
				t.Fatal(err)
			}
			p := shown.Progress
			if p == nil || p.Step == nil || *p.Step != steps {
				return false
			}
			if p.Loss == nil || math.Abs(*p.Loss-(1+10/41.0)) > 0.001 || shown.State != "RUNNING" {
				t.Errorf("%s: %s", name, said)
			}
			return true
		})
	}
	c.file("go", "")
}
