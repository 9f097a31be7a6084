package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/lint"
	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/spec"
)

func (a *app) check() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE...",
		Short: "Find problems in cluster files and batch scripts",
		Long: `Check reads cluster files and says all that is wrong with them, each problem with
its line and what to do about it. The muster.yaml beside a cluster file is checked
with it. A file of the name muster.yaml is read as that; "-" is a cluster file on
the standard input.

A file that begins with #! is a batch script. It is checked against the cluster
file before it: does the cluster have what the script asks for?

It ends with exit code 1 if a file has errors.`,
		Example: "  muster check cluster.yaml\n  muster check cluster.yaml train.sbatch\n  muster check clusters/*.yaml\n  cat cluster.yaml | muster check -\n" +
			"  muster check cluster.yaml -o json | jq '.files[].problems'",
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.checkFiles(args) },
	}
}

// checkAnswer is what `muster check -o json` prints.
type checkAnswer struct {
	OK    bool          `json:"ok"`
	Files []checkedFile `json:"files"`
}

// checkedFile is one file and all that is wrong with it.
type checkedFile struct {
	File string `json:"file"`
	// Kind is cluster, workload or script.
	Kind     string `json:"kind"`
	OK       bool   `json:"ok"`
	Errors   int    `json:"errors"`
	Warnings int    `json:"warnings"`
	// Summary says in words what is in a file without errors.
	Summary  string            `json:"summary,omitempty"`
	Problems []diag.Diagnostic `json:"problems"`
}

func (a *app) checkFiles(paths []string) error {
	var c checker
	for _, path := range paths {
		if err := c.check(path, a.in); err != nil {
			return err
		}
	}
	answer := checkAnswer{OK: !c.problems.HasErrors(), Files: c.files}
	if a.output == "json" {
		if err := a.writeJSON(answer); err != nil {
			return err
		}
	} else if err := a.writeChecked(&c); err != nil {
		return err
	}
	if !answer.OK {
		return exitCode(exitProblem)
	}
	return nil
}

func (a *app) writeChecked(c *checker) error {
	if err := diag.WriteText(a.err, &c.problems, a.color()); err != nil {
		return err
	}
	for _, f := range c.files {
		if _, err := fmt.Fprintf(a.out, "%s: %s\n", printable(f.File), f.text()); err != nil {
			return err
		}
	}
	return nil
}

// checker reads files one after the other.
type checker struct {
	files    []checkedFile
	problems diag.List
	// cluster is the last cluster file's.
	cluster *spec.Cluster
}

const (
	stdin        = "-"
	workloadName = "muster.yaml"
	// stdinLimit is more than a cluster file may have, so that what is too long
	// is noticed.
	stdinLimit = 8 << 20
)

func (c *checker) check(path string, in io.Reader) error {
	if path == stdin {
		data, err := io.ReadAll(io.LimitReader(in, stdinLimit))
		if err != nil {
			return fmt.Errorf("read the standard input: %w", err)
		}
		c.addCluster("stdin", spec.OpenText("stdin", data, spec.Options{AWS: true}))
		return nil
	}
	if c.seen(path) {
		return nil
	}
	if filepath.Base(path) == workloadName {
		workload, list := spec.LoadWorkload(path, besides(path))
		c.add(path, "workload", workloadSummary(workload), list)
		return nil
	}
	if data := scriptIn(path); data != nil {
		c.checkScript(path, data)
		return nil
	}
	c.addCluster(path, spec.Open(path, spec.Options{AWS: true}))
	beside := spec.WorkloadPath(path)
	if _, err := os.Stat(beside); errors.Is(err, fs.ErrNotExist) || c.seen(beside) || !there(path) {
		return nil
	}
	workload, list := spec.LoadWorkload(beside, c.cluster)
	c.add(beside, "workload", workloadSummary(workload), list)
	return nil
}

// addCluster adds a cluster file with what the rules say of it.
func (c *checker) addCluster(name string, f *spec.File) {
	lint.Cluster(f)
	f.Finish()
	c.cluster = f.Cluster
	c.add(name, "cluster", clusterSummary(f.Cluster), f.Problems)
}

// there tells whether a path leads to anything.
func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// besides is the cluster file beside a workload file, if it is there and good:
// it has the mounts that directories must be on.
func besides(workload string) *spec.Cluster {
	cluster, _ := spec.Load(filepath.Join(filepath.Dir(workload), "cluster.yaml"))
	return cluster
}

func (c *checker) seen(path string) bool {
	for _, f := range c.files {
		if filepath.Clean(f.File) == filepath.Clean(path) {
			return true
		}
	}
	return false
}

func (c *checker) add(path, kind, summary string, list *diag.List) {
	c.problems.Append(list.All()...)
	c.files = append(c.files, checkedFile{
		File: path, Kind: kind, OK: !list.HasErrors(), Errors: list.Count(diag.Error), Warnings: list.Count(diag.Warning),
		Summary: summary, Problems: list.All(),
	})
}

// text is the line that sums a file up.
func (f checkedFile) text() string {
	var parts []string
	if f.OK {
		parts = append(parts, "ok")
	}
	if f.Errors > 0 {
		parts = append(parts, count(f.Errors, "error"))
	}
	if f.Warnings > 0 {
		parts = append(parts, count(f.Warnings, "warning"))
	}
	if f.Summary != "" {
		parts = append(parts, f.Summary)
	}
	return strings.Join(parts, ", ")
}

func clusterSummary(c *spec.Cluster) string {
	if c == nil {
		return ""
	}
	nodes, gpus := 0, 0
	for _, g := range plan.Groups(c, nil) {
		nodes += len(g.Addresses)
		gpus += len(g.Addresses) * g.GPUs
	}
	return fmt.Sprintf("%s, %s, %s", count(len(c.Scheduling.Queues), "queue"), count(nodes, "node"), count(gpus, "GPU"))
}

func workloadSummary(w *spec.Workload) string {
	if w == nil {
		return ""
	}
	return fmt.Sprintf("%s, %s", count(len(w.Models), "model"), count(len(w.Expanded()), "directory"))
}
