package cli

import (
	"context"
	"os"
	"path/filepath"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/spec"
)

// checkScript checks a batch script, and against the cluster of the file before
// it if there is one.
func (c *checker) checkScript(path string, data []byte) {
	if c.around != nil {
		c.around()
		c.around = nil
	}
	var facts *batch.Facts
	if c.cluster != nil {
		facts = batch.FactsOf(c.cluster)
		facts.Made, facts.ImageFiles = madeBeside(c.cluster), imageFilesHere()
	}
	if facts != nil && c.ask != nil {
		facts = c.ask(facts, data)
	}
	list := batch.Check(path, data, nil, facts)
	summary := ""
	if facts != nil && !list.HasErrors() {
		summary = "fits " + c.cluster.File
	}
	c.add(path, "script", summary, list)
}

// imageFilesHere are the names of files of images in the working directory.
func imageFilesHere() []string {
	found, _ := filepath.Glob("*.sqsh") // an error is of the pattern
	more, _ := filepath.Glob("*.squashfs")
	return append(found, more...)
}

// madeBeside are the directories that the muster.yaml beside a cluster file has made when the cluster comes up.
func madeBeside(c *spec.Cluster) []string {
	if c.File == stdinName {
		return nil
	}
	w, _ := spec.LoadWorkload(spec.WorkloadPath(c.File), c)
	if w == nil {
		return nil // its problems are reported elsewhere
	}
	var dirs []string
	for _, d := range w.Expanded() {
		dirs = append(dirs, d.Path)
	}
	return dirs
}

// against makes batch scripts be checked against a cluster: that of a file, or
// the file of a cluster that was made here. A file with errors is shown with
// them.
func (a *app) against(ctx context.Context, c *checker) error {
	path := a.cluster
	ext := filepath.Ext(path)
	info, err := os.Stat(path)
	switch {
	case path == "" && os.Getenv(clusterVariable) != "":
		c.around = func() { a.around(ctx, c) }
		return nil
	case path == "":
		return nil
	case ext != ".yaml" && ext != ".yml" && (err != nil || !info.Mode().IsRegular()):
		if path, err = a.fileHere(); err != nil {
			return err
		}
		c.ask = a.asker(ctx)
	}
	c.load(path)
	return nil
}

// around makes batch scripts be checked against the cluster that MUSTER_CLUSTER names, as
// if --cluster did, and says so, since a variable is easily forgotten. A shell has it for its other
// commands, too, so that a check without such a cluster here is no mistake.
func (a *app) around(ctx context.Context, c *checker) {
	name := os.Getenv(clusterVariable)
	path, err := a.fileHere()
	if err != nil {
		a.note("%s names %s, which is no cluster on this machine: the scripts are checked without one", clusterVariable, page.Printable(name))
		return
	}
	a.note("the scripts are checked against cluster %s, which %s names", name, clusterVariable)
	c.ask = a.asker(ctx)
	c.load(path)
}

// load takes the cluster of a file, which is shown if it has errors.
func (c *checker) load(path string) {
	cluster, problems := loadFilled(path, c.variables)
	c.cluster = cluster
	if problems.HasErrors() {
		c.add(path, "cluster", "", problems)
	}
}
