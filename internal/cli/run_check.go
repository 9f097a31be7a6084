package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// factsFor are what the cluster that runs has, and what of it a script asks for.
func (a *app) factsFor(ctx context.Context, s slurm.Client, b batchScript, data []byte) (*batch.Facts, error) {
	facts, err := runningFacts(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, dir := range batch.OutputDirs(data, b.flags) {
		switch _, err := os.Stat(dir); {
		case errors.Is(err, fs.ErrNotExist):
			facts.Missing = append(facts.Missing, dir)
		case err == nil:
			facts.Made = append(facts.Made, dir)
		}
	}
	facts.Asked = askCluster(ctx, s, data, b.flags)
	if b.unseen {
		a.lookFor(facts, data, b.flags)
	}
	return facts, nil
}

// only are the problems of some severities.
func only(list *diag.List, severities ...diag.Severity) *diag.List {
	some := &diag.List{}
	for _, d := range list.All() {
		if slices.Contains(severities, d.Severity) {
			some.Append(d)
		}
	}
	return some
}

// runningFacts are what the cluster has, as Slurm and its cluster file say.
func runningFacts(ctx context.Context, s slurm.Client) (*batch.Facts, error) {
	return runningOf(ctx, s, filedFacts())
}

// runningOf is runningFacts with what the cluster file says, nil where there is none.
func runningOf(ctx context.Context, s slurm.Client, filed *batch.Facts) (*batch.Facts, error) {
	look, cancel := slurm.Limited(ctx)
	defer cancel()
	partitions, err := s.Partitions(look)
	if err != nil {
		return nil, err
	}
	nodes, err := s.Nodes(look)
	if err != nil {
		return nil, err
	}
	return batch.Running(filed, partitions, nodes), nil
}

// filedFacts are what the file of this machine's cluster says, nil where there
// is none. What else is mounted here counts as shared: nodes of one machine have
// the directories of its users.
func filedFacts() *batch.Facts {
	file, _ := spec.Load(services.ClusterFile)
	if file == nil {
		return nil
	}
	facts := batch.FactsOf(file)
	facts.Containers = true
	data, _ := os.ReadFile("/proc/self/mounts")
	for _, dir := range mountPoints(string(data)) {
		if !slices.ContainsFunc(facts.Mounts, func(m batch.Mount) bool { return m.Dir == dir }) {
			facts.Mounts = append(facts.Mounts, batch.Mount{Dir: dir})
		}
	}
	return facts
}

// mountPoints are the directories in a text like /proc/mounts, but for the root.
func mountPoints(mounts string) []string {
	var dirs []string
	for line := range strings.Lines(mounts) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[1] == "/" {
			continue
		}
		dirs = append(dirs, filepath.Clean(unescapeMount.Replace(fields[1])))
	}
	return dirs
}

// unescapeMount undoes what proc(5) says of fstab's fields.
var unescapeMount = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
