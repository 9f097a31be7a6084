package spec

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/muster-hpc/muster/internal/diag"
)

// Load reads a cluster file. The cluster is nil if the list, which is never
// nil, has errors. The list's Locate finds the places of the file's paths.
func Load(path string) (*Cluster, *diag.List) {
	list := &diag.List{}
	data, ok := Read(path, list)
	if !ok {
		return nil, list
	}
	return parseCluster(path, data, list)
}

// Parse is Load for a text that was read elsewhere; name stands for it in
// diagnostics.
func Parse(name string, data []byte) (*Cluster, *diag.List) {
	return parseCluster(name, data, &diag.List{})
}

func parseCluster(name string, data []byte, list *diag.List) (*Cluster, *diag.List) {
	f := newFile(name, data, Options{}, list)
	if f.doc != nil {
		f.doc.finish()
	}
	return f.Cluster, list
}

// WorkloadPath is where the workload file of a cluster file is if nothing else
// is said: muster.yaml in the same directory.
func WorkloadPath(clusterFile string) string {
	return filepath.Join(filepath.Dir(clusterFile), "muster.yaml")
}

// LoadWorkload reads muster.yaml. If it is not there and path is WorkloadPath
// of the cluster's file, the workload is empty. The cluster, which may be nil,
// has the mounts that directories must be on. The workload is nil if the list
// has errors.
func LoadWorkload(path string, c *Cluster) (*Workload, *diag.List) {
	list := &diag.List{}
	if c != nil && filepath.Clean(path) == WorkloadPath(c.File) {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return &Workload{}, list
		}
	}
	data, ok := Read(path, list)
	if !ok {
		return nil, list
	}
	return parseWorkload(path, data, c, list)
}

// ParseWorkload is LoadWorkload for a text that was read elsewhere.
func ParseWorkload(name string, data []byte, c *Cluster) (*Workload, *diag.List) {
	return parseWorkload(name, data, c, &diag.List{})
}

// parseWorkload parses a workload. All of it is optional: nothing but comments is one, too. An empty file may be one that was cut off.
func parseWorkload(name string, data []byte, c *Cluster, list *diag.List) (*Workload, *diag.List) {
	if onlyComments(data) {
		return &Workload{}, list
	}
	d := parse(name, data, Options{}, list)
	if d == nil {
		return nil, list
	}
	defer d.finish()
	s := workloadSchema()
	check(d, s, Options{})
	w := buildWorkload(name, d.view(s))
	checkWorkload(d.view(s), w, c)
	if d.errors > 0 {
		return nil, list
	}
	return w, list
}

// onlyComments reports whether a file has comments and nothing else.
func onlyComments(data []byte) bool {
	comments := false
	for line := range bytes.Lines(data) {
		switch line = bytes.TrimSpace(line); {
		case len(line) == 0:
		case line[0] == '#':
			comments = true
		default:
			return false
		}
	}
	return comments
}
