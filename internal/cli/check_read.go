package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/lint"
	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/spec"
)

// checker reads files one after the other.
type checker struct {
	options  checkOptions
	files    []checkedFile
	problems diag.List
	// fixes is held while a file is being changed, which a signal must not cut off.
	fixes sync.Mutex
	// cluster is the last cluster file's.
	cluster *spec.Cluster
	// look asks AWS about a file of a name, nil without --online. failed is why
	// AWS could not be asked.
	look   func(f *spec.File, name string) error
	failed error
	// ask asks the cluster that --cluster names about a batch script, nil if it does not
	// run here. It corrects the facts of the cluster's file.
	ask func(facts *batch.Facts, script []byte) *batch.Facts
	// around takes the cluster that MUSTER_CLUSTER names, for the first batch script that
	// has no cluster file before it; nil if it names none, or another one is meant.
	around func()
	// variables fill in cluster files.
	variables *spec.Variables
}

const (
	stdin        = "-"
	stdinName    = "stdin"
	workloadName = "muster.yaml"
	// stdinLimit is more than a cluster file may have, so that what is too long
	// is noticed.
	stdinLimit = 8 << 20
)

// checkArgument checks a file, or all that a pattern matches.
func (c *checker) checkArgument(arg string, in io.Reader) error {
	if arg == stdin {
		data, err := io.ReadAll(io.LimitReader(in, stdinLimit))
		if err != nil {
			return fmt.Errorf("read the standard input: %w", err)
		}
		c.checkCluster(stdinName, c.open(stdinName, data))
		return nil
	}
	if arg == stdinName {
		arg = "./" + stdinName
	}
	if there(arg) || !strings.ContainsAny(arg, "*?[{") {
		c.check(arg)
		return nil
	}
	paths, err := doublestar.FilepathGlob(arg, doublestar.WithFilesOnly(), doublestar.WithNoFollow())
	if err != nil || len(paths) == 0 {
		var list diag.List
		list.Errorf("file/pattern", "", "no file matches this pattern").At(diag.Place{File: arg}).
			WithHint("** stands for directories of any depth, * for a part of a name; or give the files' names")
		c.add(arg, "cluster", "", &list)
	}
	slices.SortStableFunc(paths, clustersFirst)
	for _, path := range paths {
		c.check(path)
	}
	return nil
}

// clustersFirst orders paths so that a muster.yaml comes behind the cluster file
// with which it is checked.
func clustersFirst(a, b string) int {
	last, alsoLast := filepath.Base(a) == workloadName, filepath.Base(b) == workloadName
	switch {
	case last == alsoLast:
		return cmp.Compare(a, b)
	case last:
		return 1
	default:
		return -1
	}
}

// reading says how cluster files are read.
func (c *checker) reading() spec.Options { return spec.Options{AWS: true, Level: c.options.level} }

func (c *checker) check(path string) {
	if c.seen(path) {
		return
	}
	list := &diag.List{}
	data, ok := spec.Read(path, list)
	switch workload := filepath.Base(path) == workloadName; {
	case workload && ok:
		c.checkWorkload(path, data, besides(path, c.variables))
	case workload:
		c.add(path, "workload", "", list)
	case !ok:
		c.cluster, c.around = nil, nil
		c.add(path, "cluster", "", list)
	case batch.MayBeScript(path, data):
		c.checkScript(path, data)
	case jobKey().Match(data):
		c.checkJob(path, data)
	default:
		c.checkCluster(path, c.open(path, data))
		c.checkBeside(spec.WorkloadPath(path))
	}
}

// checkBeside checks the workload file beside the last cluster file, if there is
// one.
func (c *checker) checkBeside(path string) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || c.seen(path) {
		return
	}
	list := &diag.List{}
	if data, ok := spec.Read(path, list); ok {
		c.checkWorkload(path, data, c.cluster)
		return
	}
	c.add(path, "workload", "", list)
}

// open reads a cluster file with its variables filled in. Fixes of a filled text do not fit the file.
func (c *checker) open(name string, text []byte) *spec.File {
	filled, problems := c.variables.Fill(name, text)
	f := spec.OpenText(name, filled, c.reading())
	f.Problems.Append(problems.All()...)
	if !bytes.Equal(text, filled) {
		f.Problems.DropFixes(func(*diag.Fix) bool { return false })
	}
	return f
}

// checkCluster adds a cluster file with what the rules say of it.
func (c *checker) checkCluster(name string, f *spec.File) {
	rules(f)
	m := c.mend(name, f.Text(), f.Problems, func(text []byte) *diag.List {
		fixing := c.reading()
		fixing.Fixes = true
		again := spec.OpenText(name, text, fixing)
		rules(again)
		return again.Problems
	})
	if m.written {
		f = spec.OpenText(name, m.after, c.reading())
		rules(f)
		m.problems = f.Problems
	}
	if c.look != nil && c.failed == nil {
		f = spec.OpenText(name, f.Text(), c.reading())
		c.failed = c.look(f, name)
		m.problems = f.Problems
	}
	c.cluster, c.around = f.Cluster, nil
	c.add(name, "cluster", clusterSummary(f.Cluster), m.problems).mended(m)
}

// rules adds to a file's problems what is left to say of it.
func rules(f *spec.File) {
	lint.Cluster(f)
	f.Finish()
}

func (c *checker) checkWorkload(path string, text []byte, cluster *spec.Cluster) {
	workload, list := readWorkload(path, text, cluster)
	m := c.mend(path, text, list, func(text []byte) *diag.List {
		_, problems := readWorkload(path, text, cluster)
		return problems
	})
	if m.written {
		workload, _ = readWorkload(path, m.after, cluster)
	}
	c.add(path, "workload", workloadSummary(workload), m.problems).mended(m)
}

// readWorkload is a workload file with all that is wrong with it, also beside its cluster if there is one.
func readWorkload(path string, text []byte, cluster *spec.Cluster) (*spec.Workload, *diag.List) {
	workload, list := spec.ParseWorkload(path, text, cluster)
	if workload != nil && cluster != nil && !list.HasErrors() {
		misfits(list, workload, plan.Fits(cluster, workload))
	}
	return workload, list
}

// there tells whether a path leads to anything.
func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// besides is the cluster file beside a workload file, if it is there and good:
// it has the mounts that directories must be on.
func besides(workload string, v *spec.Variables) *spec.Cluster {
	cluster, _ := loadFilled(filepath.Join(filepath.Dir(workload), "cluster.yaml"), v)
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

// add adds a file with its problems.
func (c *checker) add(path, kind, summary string, list *diag.List) *checkedFile {
	c.problems.Append(list.All()...)
	f := checkedFile{
		File: path, Kind: kind, OK: !list.HasErrors(), Summary: summary, Problems: list.All(),
		Errors: list.Count(diag.Error), Warnings: list.Count(diag.Warning), Infos: list.Count(diag.Info), Blind: list.Count(diag.Blind),
	}
	for _, d := range f.Problems {
		if d.Fix != nil {
			f.Fixable++
		}
	}
	c.files = append(c.files, f)
	return &c.files[len(c.files)-1]
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
	return fmt.Sprintf("%s, %s, %s", count.Of(len(c.Scheduling.Queues), "queue"), count.Of(nodes, "node"), count.Of(gpus, "GPU"))
}

func workloadSummary(w *spec.Workload) string {
	if w == nil {
		return ""
	}
	return fmt.Sprintf("%s, %s", count.Of(len(w.Models), "model"), count.Of(len(w.Expanded()), "directory"))
}
