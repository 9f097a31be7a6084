package cli

import (
	"context"
	"os"

	"github.com/muster-hpc/muster/internal/cluster"
)

func (a *app) runUp(ctx context.Context, ref cluster.Ref, f files, o upOptions) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	_, err = cluster.Up(ctx, cluster.UpOptions{
		Ref: ref, File: f.cluster, Workload: f.workload, Source: f.source, WorkloadSource: f.workloadSource,
		WorkDir: dir, NoTest: o.noTest, Report: a.reporter(),
	})
	return err
}
