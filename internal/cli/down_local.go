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
	if question := downQuestion(ctx, ref, o.deleteData); question != "" && !o.yes {
		if err := a.confirm(question); err != nil {
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

// downQuestion is what to ask before a cluster is taken down, "" if nothing is
// lost by it.
func downQuestion(ctx context.Context, ref cluster.Ref, deleteData bool) string {
	switch jobs := runningJobs(ctx, ref); {
	case jobs > 0 && deleteData:
		return fmt.Sprintf("%d jobs are running or wait. End them and delete all data of cluster %s?", jobs, ref.Name)
	case jobs > 0:
		return fmt.Sprintf("%d jobs are running or wait. End them and take cluster %s down?", jobs, ref.Name)
	case deleteData:
		return "Delete all data of cluster " + ref.Name + "?"
	}
	return ""
}

// runningJobs counts the jobs that would be lost. A Slurm that does not answer
// has none to lose.
func runningJobs(ctx context.Context, ref cluster.Ref) int {
	l := ref.Layout()
	anchor, alive := l.Alive()
	if !alive {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	out, err := cluster.OnHead(ctx, l, anchor, "squeue", "--noheader", "--states=PENDING,CONFIGURING,RUNNING,SUSPENDED,STOPPED", "--format=%A")
	if err != nil {
		return 0
	}
	return len(strings.Fields(out))
}
