//go:build linux

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/aws"
	"github.com/muster-hpc/muster/internal/count"
	"github.com/muster-hpc/muster/internal/fault"
	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/slurm"
)

// downLocal takes a cluster on this machine down.
func (a *app) downLocal(ctx context.Context, w where, o downOptions) error {
	ref := w.ref()
	if !ref.There() {
		if o.deleteData {
			return noData(w)
		}
		return noCluster(w.home, w.name)
	}
	down := local.DownOptions{Ref: ref, DeleteData: o.deleteData, Report: a.reporter()}
	if err := down.Removable(); err != nil {
		return err
	}
	if !o.yes {
		if err := a.confirmLocalDown(ctx, ref, o.deleteData); err != nil {
			return err
		}
	}
	done, err := local.Down(ctx, down)
	left := asUnexported(done.Unexported)
	if err := a.showSteps(changeAnswer{Cluster: ref.Name, Steps: done.Steps, NotExported: left}, err); err != nil {
		return err
	}
	return a.showUnexported(left)
}

func asUnexported(u *local.Unexported) *unexported {
	if u == nil {
		return nil
	}
	left := &unexported{Why: u.Why, Unknown: u.Unknown, Files: u.Files, SizeBytes: u.SizeBytes, Blocked: u.Blocked, First: []unexportedFile{}, Dir: u.Dir}
	for _, f := range u.First {
		left.First = append(left.First, unexportedFile(f))
	}
	return left
}

// confirmLocalDown asks before something is lost.
func (a *app) confirmLocalDown(ctx context.Context, ref local.Ref, deleteData bool) error {
	jobs, err := a.jobsToLose(ctx, ref)
	if err != nil {
		fmt.Fprintf(a.err, "muster: Slurm does not answer, so nobody knows which jobs cluster %s has\n", ref.Name)
	}
	question := downQuestion(ref.Name, len(jobs), deleteData)
	if question == "" {
		return nil
	}
	err = a.confirm(question)
	if errors.Is(err, errNoTerminal) {
		return fault.Usage(fmt.Errorf("%s: %w", atStake(ref.Name, jobs, deleteData), err))
	}
	return err
}

// atStake is what a question was about that nobody could be asked.
func atStake(name string, jobs []string, deleteData bool) string {
	var lost []string
	if len(jobs) > 0 {
		lost = append(lost, fmt.Sprintf("%s would end (%s)", count.Of(len(jobs), "job"), strings.Join(jobs, ", ")))
	}
	if deleteData {
		lost = append(lost, "all data of cluster "+name+" would be deleted")
	}
	return strings.Join(lost, ", and ")
}

// noData says that there is no data to delete. It suggests no other cluster's.
func noData(w where) error {
	return fault.Coded(fault.CodeUnknown, "there is no cluster %s, and no data of it", w.name)
}

// findKept makes a command that deletes data one about a cluster that was taken down, if
// that is named, or if nobody named one and the file of that is the nearest. It is never
// taken for being the only one there is.
func (a *app) findKept(o *downOptions) error {
	if o.place == onAWS {
		return nil
	}
	home, err := homeDir()
	if err != nil {
		return err
	}
	if name := a.asked(); name != "" {
		if _, err := aws.RecordOf(home, name); errors.Is(err, fs.ErrNotExist) && slices.Contains(local.Kept(home), name) {
			o.place = onLocal // whoever else may have a cluster of that name on AWS
		}
		return nil
	}
	c := choice{}
	if c.known, err = known(home, o.place); err != nil {
		return err
	}
	kept := local.Kept(home)
	for _, name := range kept {
		c.known = append(c.known, ofFile(name, local.Ref{Home: home, Name: name}.MadeOf()))
	}
	c.lookHere()
	near := c.nearest()
	if !slices.ContainsFunc(near, func(m madeOf) bool { return slices.Contains(kept, m.name) }) {
		return nil
	}
	if len(near) > 1 {
		return several(fmt.Sprintf("%d clusters were made of files in %s: %s", len(near), near[0].dir, namesOf(near)))
	}
	a.note("this is about the data of cluster %s, which was taken down and whose file is %s", near[0].name, near[0].file)
	a.cluster, o.place = near[0].name, onLocal
	return nil
}

// keptData names the data that clusters left when they were taken down, and what
// deletes it, at the end of an error.
func keptData(home string) string {
	var text strings.Builder
	for _, name := range local.Kept(home) {
		fmt.Fprintf(&text, "; the data of %s is kept in %s, and `muster down --cluster %s --delete-data` deletes it", name, filepath.Join(home, name), name)
	}
	return text.String()
}

// downQuestion is what to ask before a cluster is taken down, "" if nothing is
// lost by it.
func downQuestion(name string, jobs int, deleteData bool) string {
	switch {
	case jobs > 0 && deleteData:
		return endThem(jobs) + " and delete all data of cluster " + name + "?"
	case jobs > 0:
		return endThem(jobs) + " and take cluster " + name + " down?"
	case deleteData:
		return "Delete all data of cluster " + name + "?"
	}
	return ""
}

func endThem(jobs int) string {
	if jobs == 1 {
		return "1 job is running or waits. End it"
	}
	return count.Of(jobs, "job") + " are running or wait. End them"
}

// jobsWait is how long Slurm may take to say which jobs there are.
const jobsWait = 3 * time.Second

// jobsToLose are the jobs that would be lost, and says what it waits for where that
// takes long.
func (a *app) jobsToLose(ctx context.Context, ref local.Ref) (jobs []string, err error) {
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

func askForJobs(ctx context.Context, ref local.Ref) ([]string, error) {
	l := ref.Layout()
	anchor, alive := l.Alive()
	if !alive {
		return nil, nil
	}
	jobs, problems, err := slurm.Client{Runner: local.FromHost{Layout: l, Anchor: anchor}}.Jobs(ctx)
	return unfinished(jobs, problems), err
}

// unfinished are the jobs that have still something to do. One that Slurm cleans up after
// has not, unless it is queued again then. What cannot be read may be one.
func unfinished(jobs []slurm.Job, problems []slurm.Problem) []string {
	var labels []string
	for _, j := range jobs {
		if !j.Ended() && (j.State != "COMPLETING" || j.Again) {
			labels = append(labels, j.Label())
		}
	}
	for range problems {
		labels = append(labels, "one that cannot be read")
	}
	return labels
}
