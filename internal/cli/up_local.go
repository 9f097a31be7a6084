//go:build linux

package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/muster-hpc/muster/internal/cluster"
)

// runUp makes a cluster on this machine what its files say.
func (a *app) runUp(ctx context.Context, home, name string, f files, o upOptions) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	steps, err := cluster.Up(ctx, cluster.UpOptions{
		Ref: cluster.Ref{Home: home, Name: name}, File: f.cluster, Workload: f.workload, Source: f.source, WorkloadSource: f.workloadSource,
		WorkDir: dir, NoTest: o.noTest, Report: a.reporter(),
	})
	if err != nil && ctx.Err() != nil {
		fmt.Fprintf(a.err, "\nmuster: `muster up` goes on from here, `muster down --cluster %s` takes away what there is\n", name)
	}
	return a.showSteps(changeAnswer{Cluster: name, Steps: steps}, err)
}
