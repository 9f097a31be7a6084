package batch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

// reported says of each script in testdata/reported what must be told about it: severity,
// code and line; and which codes must not be.
var reported = map[string]struct{ want, not []string }{
	"backslash-blank-in-a-string":                  {want: []string{"warning script/continuation 10"}},
	"cpus-per-task-since-23.11":                    {not: []string{"script/srun-cpus"}},
	"heredoc-beside-unreadable-shell":              {not: []string{"script/late-directive", "script/syntax", "script/unread"}},
	"interface-exclusion-without-lo":               {want: []string{"warning script/ifname 9"}},
	"nnodes-other-than-the-job":                    {want: []string{"error script/launcher-nodes 9"}},
	"no-interpreter-line":                          {want: []string{"error script/interpreter 1"}},
	"output-beside-a-directory-that-the-job-makes": {not: []string{"script/output-dir"}},
	"own-directory-of-a-batch-script":              {want: []string{"warning script/spool-copy 8"}},
	"rank-variable-that-nothing-uses":              {not: []string{"script/rank-in-batch"}},
	"relative-squashfs-image":                      {want: []string{"warning script/image-path 5"}},
	"requeue-of-one-array-task":                    {want: []string{"warning script/array-requeue 12"}},
	"scontrol-in-container":                        {want: []string{"warning script/container-slurm 8"}},
	"shell-that-the-parser-cannot-read":            {want: []string{"error script/rank-in-batch 11", "error script/master-addr 11"}, not: []string{"script/syntax", "script/unread"}},
	"tasks-that-nothing-starts":                    {want: []string{"warning script/unstarted-tasks 8"}},
	"torchrun-without-an-endpoint":                 {want: []string{"error script/rendezvous 10"}},
	"trailing-words-in-directive":                  {want: []string{"error script/option 4", "error script/option 5"}},
	"variables-that-slurm-does-not-set":            {want: []string{"warning script/unset-variable 8", "warning script/unset-variable 9"}},
}

func TestReported(t *testing.T) {
	facts := factsOfFile(t, "testdata/reported/cluster.yaml")
	paths, _ := filepath.Glob("testdata/reported/*.sbatch")
	if len(paths) != len(reported) {
		t.Fatalf("there are %d scripts, and something is said of %d", len(paths), len(reported))
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".sbatch")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			list := batch.Check(filepath.Base(path), data, nil, facts)
			golden.Check(t, filepath.Join("reported", name+".txt"), said(t, list))
			for _, w := range reported[name].want {
				if !slices.ContainsFunc(list.All(), func(d diag.Diagnostic) bool { return fmt.Sprintf("%s %s %d", d.Severity, d.Code, d.Line) == w }) {
					t.Errorf("%s is not reported", w)
				}
			}
			for _, code := range reported[name].not {
				if slices.ContainsFunc(list.All(), func(d diag.Diagnostic) bool { return d.Code == code }) {
					t.Errorf("%s is reported", code)
				}
			}
		})
	}
}
