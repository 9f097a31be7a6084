package headnode

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-hpc/muster/internal/aws/agent"
	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/store"
)

// linksDir has what the exports remember of their buckets.
const linksDir = stateDir + "/links"

// figures is the file of figures about the exports.
const figures = agent.LogDir + "/exports.prom"

// patient is for files that other machines write, which show here only some time later: clients
// of NFS keep what was written to themselves for up to half a minute.
var patient = export.Pace{Settle: time.Minute, LogEvery: time.Minute, Late: 35 * time.Second}

// exportsOf are the exports of the cluster's muster.yaml; nil where it has none.
func exportsOf(cloud *api.Account, c *spec.Cluster, log *slog.Logger) (*controller.Exports, error) {
	w, err := workloadOf(services.WorkloadFile, c)
	if err != nil || len(w.Exports) == 0 {
		return nil, err
	}
	if err := os.MkdirAll(linksDir, 0o700); err != nil {
		return nil, err
	}
	return controller.NewExports(associations(cloud, c.With(w), w), log), nil
}

// associations are the exports of a muster.yaml.
func associations(cloud *api.Account, c *spec.Cluster, w *spec.Workload) []controller.Association {
	var all []controller.Association
	for _, e := range w.Exports {
		rule := controller.ExportRule(e)
		rule.Trusted = mountOf(c, e.Directory)
		all = append(all, controller.Association{
			Path: e.Directory, Rule: rule, Record: filepath.Join(linksDir, url.PathEscape(e.Directory)),
			Find: func(ctx context.Context) (store.Store, error) { return findBucket(ctx, cloud, e.Bucket) }, Pace: patient,
		})
	}
	return all
}

// mountOf is the mount that a directory is on.
func mountOf(c *spec.Cluster, dir string) string {
	for _, s := range c.SharedStorage {
		if dir == s.MountDir || strings.HasPrefix(dir, s.MountDir+"/") {
			return s.MountDir
		}
	}
	return dir
}

// workloadOf reads the cluster's muster.yaml. It is empty, or not there, where the user has none.
func workloadOf(path string, c *spec.Cluster) (*spec.Workload, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
		return &spec.Workload{}, nil
	}
	if err != nil {
		return nil, err
	}
	w, problems := spec.ParseWorkload(path, text, c)
	if w == nil {
		return nil, problems.Err()
	}
	return w, nil
}

// runExports runs exports beside a controller until ctx ends.
func runExports(ctx context.Context, e *controller.Exports, log *slog.Logger) error {
	if e == nil {
		return nil
	}
	var group errgroup.Group
	group.Go(func() error { return e.WriteMetrics(ctx, figures, log) })
	group.Go(func() error { return e.Run(ctx) })
	return group.Wait()
}
