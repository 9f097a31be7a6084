package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/muster-hpc/muster/internal/account"
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/lint"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/heed"
)

// wanted is what a cluster is to be.
type wanted struct {
	cluster                *spec.Cluster
	workload               *spec.Workload
	source, workloadSource []byte
	talk                   place.Talk
}

// Read implements place.Place. It ends with the context.
func (Place) Read(ctx context.Context, f place.Files, t place.Talk) (place.Wanted, error) {
	w := &wanted{talk: t}
	err := heed.Call(ctx, func() error { return w.read(f) })
	return w, err
}

func (w *wanted) read(f place.Files) (err error) {
	if w.source, err = place.ReadCluster(f, w.talk); err != nil {
		return err
	}
	var problems, more *diag.List
	if w.cluster, problems = spec.Parse(f.Cluster, w.source); w.cluster == nil {
		return w.talk.Problems(problems)
	}
	w.workload, w.workloadSource, more = place.ReadWorkload(f.Workload, w.cluster)
	problems.Append(more.All()...)
	if err := w.talk.Problems(problems); err != nil {
		return err
	}
	w.cluster = w.cluster.With(w.workload)
	w.tellOfAWS(f.Cluster)
	return nil
}

// tellOfAWS says that a file which is good for this machine is not yet good for AWS.
func (w *wanted) tellOfAWS(path string) {
	if w.talk.Quiet() {
		return
	}
	f := spec.OpenText(path, w.source, spec.Options{AWS: true})
	lint.Cluster(f)
	f.Finish()
	errs, warnings := f.Problems.Count(diag.Error), f.Problems.Count(diag.Warning)
	if errs+warnings == 0 {
		return
	}
	fmt.Fprintf(w.talk.Out(), "for AWS the file has %s and %s: `muster check %s` shows them\n",
		count.Of(errs, "error"), count.Of(warnings, "warning"), page.Printable(spec.Again(path)))
}

// Up implements place.Wanted.
func (w *wanted) Up(ctx context.Context, o place.UpOptions) (place.Answer, error) {
	ref := Ref{Home: o.Home, Name: o.Name}
	if err := ref.mine(); err != nil {
		return place.Answer{}, err
	}
	if err := ref.withoutDirectory(); err != nil {
		return place.Answer{}, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return place.Answer{}, err
	}
	up := UpOptions{
		Ref: ref, File: w.cluster, Workload: w.workload, Source: w.source, WorkloadSource: w.workloadSource,
		WorkDir: dir, NoTest: o.NoTest, Report: w.talk.Report(),
	}
	if up.WorkloadSource == nil {
		if err := heed.Call(ctx, func() error { return w.keepWorkload(&up) }); err != nil {
			return place.Answer{}, err
		}
	}
	if err := up.removable(ctx); err != nil {
		return place.Answer{}, err
	}
	if err := w.confirmGoing(ctx, up, o.Yes); err != nil {
		return place.Answer{}, err
	}
	answer := place.Answer{Cluster: o.Name}
	up.Tested = func(t place.TestJob) { answer.TestJob = &t }
	answer.Steps, err = Up(ctx, up)
	// What stands against accounts is found only now where Slurm did not answer in time before.
	if conflicts, ok := errors.AsType[*diag.List](err); ok {
		err = w.talk.Problems(conflicts)
	}
	return answer, err
}

// keepWorkload leaves a cluster the muster.yaml that it has where there is none beside the cluster
// file: a file that is missing is no wish to lose what it says.
func (w *wanted) keepWorkload(up *UpOptions) error {
	text, err := os.ReadFile(up.Ref.Layout().Path("muster.yaml"))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	workload, problems := spec.ParseWorkload(place.FormerWorkload, text, w.cluster)
	if workload == nil {
		return place.Unfit(problems)
	}
	up.Workload, up.WorkloadSource, up.File = workload, text, w.cluster.With(workload)
	w.talk.Note("%s", place.KeepsWorkload(up.Ref.Name))
	return nil
}

// confirmGoing asks before something is taken from a cluster that runs.
func (w *wanted) confirmGoing(ctx context.Context, up UpOptions, yes bool) error {
	lines, err := up.going(ctx)
	p := up.accountsPlan(ctx)
	if conflicts := w.talk.Problems(&p.Conflicts); conflicts != nil {
		return conflicts
	}
	lines = append(lines, account.Losses(p.Changes)...)
	if err != nil || len(lines) == 0 || yes {
		return err
	}
	fmt.Fprintf(w.talk.Out(), "cluster %s runs, and would be changed:\n", up.Ref.Name)
	for _, line := range lines {
		fmt.Fprintln(w.talk.Out(), "  "+page.Printable(line))
	}
	return w.talk.Confirm("Go on?")
}
