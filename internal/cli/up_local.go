//go:build linux

package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/page"
)

// runUp makes a cluster on this machine what its files say.
func (a *app) runUp(ctx context.Context, home, name string, f files, o upOptions) error {
	if err := foreign(local.Ref{Home: home, Name: name}); err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	up := local.UpOptions{
		Ref: local.Ref{Home: home, Name: name}, File: f.cluster, Workload: f.workload, Source: f.source, WorkloadSource: f.workloadSource,
		WorkDir: dir, NoTest: o.noTest, Report: a.reporter(),
	}
	if err := up.Removable(ctx); err != nil {
		return err
	}
	if err := a.confirmGoing(ctx, up, o.yes); err != nil {
		return err
	}
	steps, err := local.Up(ctx, up)
	if err != nil && ctx.Err() != nil {
		fmt.Fprintf(a.err, "\nmuster: `muster up` goes on from here, `muster down --cluster %s` takes away what there is\n", name)
	}
	return a.showSteps(changeAnswer{Cluster: name, Steps: steps}, err)
}

// confirmGoing asks before something is taken from a cluster that runs.
func (a *app) confirmGoing(ctx context.Context, up local.UpOptions, yes bool) error {
	lines, err := up.Going(ctx)
	if err != nil || len(lines) == 0 || yes {
		return err
	}
	fmt.Fprintf(a.err, "cluster %s runs, and would be changed:\n", up.Ref.Name)
	for _, line := range lines {
		fmt.Fprintln(a.err, "  "+page.Printable(line))
	}
	return a.confirm("Go on?")
}
