package place

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/spec"
)

// ReadCluster reads the text of a cluster file, once, as it can be a pipe, with its variables
// filled in, and shows why it cannot.
func ReadCluster(f Files, t Talk) ([]byte, error) {
	problems := &diag.List{}
	text, ok := spec.Read(f.Cluster, problems)
	if !ok {
		return nil, t.Problems(problems)
	}
	if err := NotScript(f.Cluster, text); err != nil {
		return nil, err
	}
	if f.Variables == nil {
		f.Variables = &spec.Variables{}
	}
	filled, problems := f.Variables.Fill(f.Cluster, text)
	if !problems.HasErrors() {
		problems = spec.Template(f.Cluster, filled, true)
	}
	for _, name := range f.Variables.Unused() {
		problems.Errorf("file/variable", "", "the file has no ${%s}", name).At(diag.Place{File: f.Cluster}).WithHint("leave --set %s out, or check its spelling", name)
	}
	return filled, t.Problems(problems)
}

// NotScript refuses a batch script where a cluster file is wanted.
func NotScript(path string, text []byte) error {
	if !batch.IsScript(text) {
		return nil
	}
	return fmt.Errorf("%s is a batch script, not a cluster file; `muster check` checks it, `muster run` submits it", page.Printable(path))
}

// ReadWorkload reads and checks a workload file, once, as it can be a pipe. If none is
// asked for, it is the one beside the cluster file, which need not be there.
func ReadWorkload(asked string, c *spec.Cluster) (*spec.Workload, []byte, *diag.List) {
	path := asked
	list := &diag.List{}
	if path == "" {
		path = spec.WorkloadPath(c.File)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return &spec.Workload{}, nil, list
		}
	}
	source, ok := spec.Read(path, list)
	if !ok {
		return nil, nil, list
	}
	w, list := spec.ParseWorkload(path, source, c)
	return w, source, list
}

// FormerWorkload is what problems call the muster.yaml that a cluster has, where there is none beside its file.
const FormerWorkload = "the cluster's muster.yaml"

// KeepsWorkload says that a cluster goes on with the muster.yaml that it has.
func KeepsWorkload(cluster string) string {
	return fmt.Sprintf("there is no muster.yaml beside the cluster file: cluster %s keeps the one that it has, with its accounts and its burn-in; one with the text {} takes them away", page.Printable(cluster))
}

// Unfit says that the muster.yaml that a cluster has does not fit its new file.
func Unfit(problems *diag.List) error {
	return fmt.Errorf("there is no muster.yaml beside the cluster file, and the one that the cluster has does not fit the file: %w; put one beside the file, {} for none of it", problems.Err())
}
