package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

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
	if err := writeFiles(d.Dir, d.Whole); err != nil {
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

// writeFiles makes dir with the cluster file, its workload file and the training
// programs.
func writeFiles(dir string, whole bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"demo", "bytelm"} {
		folder, err := fs.Sub(examples.Files, name)
		if err == nil {
			err = os.CopyFS(dir, folder)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", dir, err)
		}
	}
	if !whole {
		return nil
	}
	if err := os.CopyFS(dir, train.Files); err != nil {
		return fmt.Errorf("write %s: %w", dir, err)
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

// readBack waits until all is exported, reads it back and compares.
func (d *demo) readBack(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("the export did not end within 2m"))
	defer cancel()
	control := local.Controller(d.layout)
	if err := control.Flush(ctx); err != nil {
		return "", err
	}
	all, err := control.Verify(ctx)
	if err != nil {
		return "", err
	}
	matched := 0
	for _, v := range all {
		if len(v.Missing)+len(v.Different) > 0 {
			return "", fmt.Errorf("s3://%s is not like %s: missing %v, different %v", v.Bucket, v.Path, v.Missing, v.Different)
		}
		matched += v.Matched
	}
	if matched == 0 {
		return "", errors.New("nothing was exported")
	}
	return fmt.Sprintf("%d files in %d buckets have the checksums of their originals", matched, len(all)), nil
}

// hostPath is where a path of the cluster's shared storage lies on this machine.
func (d *demo) hostPath(path string) string {
	for _, s := range d.files.cluster.SharedStorage {
		if rest, ok := strings.CutPrefix(path, s.MountDir+"/"); ok {
			return local.StorageDir(d.layout, d.files.cluster, s.MountDir) + "/" + rest
		}
	}
	return path
}
