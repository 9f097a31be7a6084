package demo

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-hpc/muster/examples"
	"github.com/muster-hpc/muster/examples/train"
	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/tail"
)

// files are the demo's files, read and checked.
type files struct {
	cluster        *spec.Cluster
	workload       *spec.Workload
	source         []byte
	workloadSource []byte
}

// load writes the files that muster ships and reads them as a user's.
func (d *demo) load(context.Context) (string, error) {
	if err := writeFiles(d.Dir); err != nil {
		return "", err
	}
	path := filepath.Join(d.Dir, "cluster.yaml")
	c, problems := spec.Load(path)
	if c == nil {
		return "", problems.Err()
	}
	w, more := spec.LoadWorkload(spec.WorkloadPath(path), c)
	problems.Append(more.All()...)
	if problems.HasErrors() {
		return "", problems.Err()
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	workloadSource, err := os.ReadFile(w.File)
	if err != nil {
		return "", err
	}
	d.files = files{c, w, source, workloadSource}
	return describe(c, w), nil
}

// describe says what the cluster file asks for.
func describe(c *spec.Cluster, w *spec.Workload) string {
	gpus := 0
	for _, q := range c.Scheduling.Queues {
		for _, r := range q.ComputeResources {
			t, _ := catalog.Lookup(r.InstanceTypes[0])
			gpus += r.MaxCount * t.GPU.Count
		}
	}
	return fmt.Sprintf("%d nodes, %d GPUs, %d shared file systems, %d models", len(plan.NodeNames(c)), gpus, len(c.SharedStorage), len(w.Models))
}

// writeFiles makes dir hold the cluster file, its workload file and the training
// program.
func writeFiles(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	folder, err := fs.Sub(examples.Files, "demo")
	if err != nil {
		return err
	}
	for _, from := range []fs.FS{folder, train.Files} {
		if err := os.CopyFS(dir, from); err != nil {
			return fmt.Errorf("write %s: %w", dir, err)
		}
	}
	return nil
}

func (d *demo) up(ctx context.Context) (string, error) {
	done, err := local.Up(ctx, local.UpOptions{
		Ref: d.ref, File: d.files.cluster, Workload: d.files.workload, Source: d.files.source,
		WorkloadSource: d.files.workloadSource, WorkDir: d.Dir, Report: d.Report,
	})
	if err != nil {
		return "", err
	}
	anchor, alive := d.layout.Alive()
	if !alive {
		return "", fmt.Errorf("the cluster ended again")
	}
	d.anchor = anchor
	d.slurm = slurm.Client{Runner: local.Runner{Layout: d.layout, Anchor: anchor, Dir: d.Dir}}
	return done[len(done)-1].Detail, nil
}

// lastLines is the end of a text file, or why it cannot be read.
func lastLines(path string, count int) string {
	lines, err := tail.File(path, 0, count)
	if err != nil {
		return err.Error()
	}
	return strings.Join(lines, "\n")
}
