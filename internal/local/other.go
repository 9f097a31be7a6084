package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/plan"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// face are the properties by which a user knows a cluster.
type face struct {
	// File is the cluster file's path, empty for a pipe, Text its content.
	File, Text string
	Region, OS string
	Queues     []string
	Nodes      []string
	Mounts     []string
}

// pendingIn is how many files of a mount directory are not in their buckets yet.
func (u use) pendingIn(mount string) int {
	n := 0
	for dir, files := range u.pending {
		if dir == mount || strings.HasPrefix(dir, mount+"/") {
			n += files
		}
	}
	return n
}

func faceOf(c *spec.Cluster, file string, text []byte) face {
	f := face{File: file, Text: string(text), Region: c.Region, OS: c.OS, Nodes: plan.NodeNames(c)}
	for _, q := range c.Scheduling.Queues {
		f.Queues = append(f.Queues, q.Name)
	}
	for _, s := range c.SharedStorage {
		f.Mounts = append(f.Mounts, s.MountDir)
	}
	return f
}

// use is what a cluster that runs is used for: the jobs of each queue, running or
// waiting, and the mount directories that hold files.
type use struct {
	jobs map[string]int
	full map[string]bool
	wait []waitingJob
	// pending is how many files of a linked directory are not in its bucket yet.
	pending map[string]int
}

// waitingJob is a job that has not begun, and the queues that it may run in.
type waitingJob struct {
	id     string
	queues []string
}

// useOf counts the jobs of each queue, and has those that wait.
func useOf(jobs []slurm.Queued) use {
	u := use{jobs: map[string]int{}, full: map[string]bool{}, pending: map[string]int{}}
	for _, j := range jobs {
		u.jobs[j.Partition]++
		if j.State == "PENDING" {
			u.wait = append(u.wait, waitingJob{strconv.Itoa(j.ID), strings.Split(j.Partition, ",")})
		}
	}
	return u
}

// stranded are the jobs that wait in queues of which none stays.
func (u use) stranded(gone []string) []string {
	var ids []string
	for _, j := range u.wait {
		if len(without(j.queues, gone)) == 0 {
			ids = append(ids, j.id)
		}
	}
	return ids
}

// going are the lines on what an `up` takes from a cluster that runs, none where it
// need not ask: the same file, edited, may take away what holds no data and no job.
// Another file is another cluster, whatever it takes, and nobody knows of a pipe which file
// it is.
func going(was, is face, u use) []string {
	other := (was.File != is.File || is.File == "") && was.Text != is.Text
	queues, mounts := without(was.Queues, is.Queues), without(was.Mounts, is.Mounts)
	matters := other || slices.ContainsFunc(queues, func(q string) bool { return u.jobs[q] > 0 }) ||
		slices.ContainsFunc(mounts, func(m string) bool { return u.full[m] }) || len(u.stranded(queues)) > 0
	if !matters {
		return nil
	}
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	switch {
	case other && was.File == "":
		add("it was made of another text")
	case other:
		add("it was made of another file: %s", was.File)
	}
	for _, q := range queues {
		add("queue %s goes%s", q, jobsOf(u.jobs[q]))
	}
	if ids := u.stranded(queues); len(ids) > 0 {
		add("jobs that wait there and cannot run any more: %s", strings.Join(ids, ", "))
	}
	if nodes := without(was.Nodes, is.Nodes); len(nodes) > 0 {
		verb := "go"
		if len(nodes) == 1 {
			verb = "goes"
		}
		add("%s %s: %s", count.Of(len(nodes), "node"), verb, slurm.Compress(nodes))
	}
	for _, m := range mounts {
		lines = append(lines, goes(m, u.full[m]))
		if n := u.pendingIn(m); n > 0 {
			add("files of %s that are not in the bucket yet: %d", m, n)
		}
	}
	for _, x := range []struct{ what, was, is string }{{"the region", was.Region, is.Region}, {"the operating system", was.OS, is.OS}} {
		if x.was != x.is {
			add("%s is %s instead of %s", x.what, x.is, x.was)
		}
	}
	all := 0
	for _, n := range u.jobs {
		all += n
	}
	if all > 0 {
		add("jobs that run or wait there: %d", all)
	}
	return lines
}

func goes(mount string, full bool) string {
	if full {
		return mount + " goes from all machines; its files stay in the run directory"
	}
	return mount + " goes from all machines; it is empty"
}

func jobsOf(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", which has jobs: %d", n)
}

// without are the words of a list that another has not.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

// going looks at what Up would take from a cluster that runs: see going.
func (o UpOptions) going(ctx context.Context) ([]string, error) {
	l := o.Ref.Layout()
	anchor, alive := l.Alive()
	record, err := l.Record()
	if !alive || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(l.Path("cluster.yaml"))
	if err != nil {
		return nil, fmt.Errorf("read what the cluster was made of: %w", err)
	}
	old, _ := spec.Parse(l.Path("cluster.yaml"), text)
	if old == nil {
		return nil, nil // made by another muster, which took what we cannot read
	}
	if workload, problems := spec.LoadWorkload(l.Path("muster.yaml"), old); !problems.HasErrors() {
		old = old.With(workload)
	}
	u := o.look(ctx, anchor)
	for _, s := range old.SharedStorage {
		u.full[s.MountDir] = holdsFile(StorageDir(l, old, s.MountDir))
	}
	return going(faceOf(old, record.File, text), faceOf(o.File, spec.Lasting(o.File.File), o.Source), u), nil
}

// look asks Slurm and the controller what a cluster that runs is used for. Where they do
// not answer, no job and no file is counted; Up fails later if Slurm stays silent.
func (o UpOptions) look(ctx context.Context, anchor nodes.AnchorProcess) use {
	l := o.Ref.Layout()
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	jobs, _ := slurmOf(l, anchor).Queue(ctx)
	u := useOf(jobs)
	all, _ := Controller(l).Exports(ctx)
	for _, s := range all {
		if s.Export {
			u.pending[s.Path] += s.Pending
		}
	}
	return u
}
