//go:build linux

package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/cluster"
)

// downLocal takes a cluster on this machine down.
func (a *app) downLocal(ctx context.Context, w where, o downOptions) error {
	ref := w.ref()
	if !ref.There() {
		return noCluster(w.home, w.name)
	}
	down := cluster.DownOptions{Ref: ref, DeleteData: o.deleteData, Report: a.reporter()}
	if err := down.Removable(); err != nil {
		return err
	}
	if !o.yes {
		if err := a.confirmLocalDown(ctx, ref, o.deleteData); err != nil {
			return err
		}
	}
	done, err := cluster.Down(ctx, down)
	left := asUnexported(done.Unexported)
	if err := a.showSteps(changeAnswer{Cluster: ref.Name, Steps: done.Steps, NotExported: left}, err); err != nil {
		return err
	}
	return a.showUnexported(left)
}

func asUnexported(u *cluster.Unexported) *unexported {
	if u == nil {
		return nil
	}
	left := &unexported{Why: u.Why, Unknown: u.Unknown, Files: u.Files, SizeBytes: u.SizeBytes, First: []unexportedFile{}, Dir: u.Dir}
	for _, f := range u.First {
		left.First = append(left.First, unexportedFile(f))
	}
	return left
}

// confirmLocalDown asks before something is lost.
func (a *app) confirmLocalDown(ctx context.Context, ref cluster.Ref, deleteData bool) error {
	jobs, err := a.jobsToLose(ctx, ref)
	if err != nil {
		fmt.Fprintf(a.err, "muster: Slurm does not answer, so nobody knows which jobs cluster %s has\n", ref.Name)
	}
	question := downQuestion(ref.Name, jobs, deleteData)
	if question == "" {
		return nil
	}
	return a.confirm(question)
}

// downQuestion is what to ask before a cluster is taken down, "" if nothing is
// lost by it.
func downQuestion(name string, jobs int, deleteData bool) string {
	switch {
	case jobs > 0 && deleteData:
		return fmt.Sprintf("%d jobs are running or wait. End them and delete all data of cluster %s?", jobs, name)
	case jobs > 0:
		return fmt.Sprintf("%d jobs are running or wait. End them and take cluster %s down?", jobs, name)
	case deleteData:
		return "Delete all data of cluster " + name + "?"
	}
	return ""
}

// jobsWait is how long Slurm may take to say which jobs there are.
const jobsWait = 3 * time.Second

// jobsToLose counts the jobs that would be lost, and says what it waits for where that
// takes long.
func (a *app) jobsToLose(ctx context.Context, ref cluster.Ref) (jobs int, err error) {
	ctx, cancel := context.WithTimeout(ctx, jobsWait)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		jobs, err = askForJobs(ctx, ref)
	}()
	select {
	case <-done:
	case <-time.After(jobsWait / 6):
		fmt.Fprintf(a.err, "muster: asking Slurm which jobs there are, for %.0f s at most\n", jobsWait.Seconds())
		<-done
	}
	return jobs, err
}

func askForJobs(ctx context.Context, ref cluster.Ref) (int, error) {
	l := ref.Layout()
	anchor, alive := l.Alive()
	if !alive {
		return 0, nil
	}
	out, err := cluster.OnHead(ctx, l, anchor, "squeue", "--noheader", "--states=PENDING,CONFIGURING,RUNNING,SUSPENDED,STOPPED", "--format=%A")
	return len(strings.Fields(out)), err
}
