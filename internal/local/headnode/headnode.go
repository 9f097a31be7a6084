// Package headnode runs the controller of a local cluster: what it has to know of the
// cluster, and what its head node serves beside it, such as SSH and exports.
package headnode

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/local"
	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/services/supervise"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/store"
)

// garbagePercent is how much garbage the controller keeps, in percent of what it needs: half as much as Go's programs
// usually do, as it shares a machine with the jobs and has time.
const garbagePercent = 50

// Run is the controller of the cluster in a directory, until ctx ends or a request stops it.
func Run(ctx context.Context, dir string, log *slog.Logger) error {
	debug.SetGCPercent(garbagePercent)
	l, record, err := nodes.Open(dir)
	if err != nil {
		return err
	}
	nodes, err := nodes.NewFleet(l)
	if err != nil {
		return err
	}
	defer nodes.Close()
	events, err := controller.OpenEvents(l.Path("log", "events.jsonl"))
	if err != nil {
		return err
	}
	defer events.Close()
	if err := local.SweepForwards(l); err != nil {
		log.Warn("what killed forwards left stays", "err", err)
	}
	exports, buckets, err := openBuckets(ctx, l, log)
	if err != nil {
		return err
	}
	config, err := localConfig(l)
	if err != nil {
		return err
	}
	agent, err := serveSSH(l, record, nodes)
	if err != nil {
		return err
	}
	kept, err := openKept(ctx, l, events, log)
	if err != nil {
		return err
	}
	defer kept.crew.Close()
	config.Fleet, config.Exports, config.Events, config.Log, config.Kept, config.Secrets = nodes, exports, events, log, kept.jobs, kept.secrets
	control := controller.New(config)
	socket, err := controller.Listen(services.SocketDir + "/muster/controller.sock")
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return control.Serve(ctx, socket, controller.Users("slurm")) })
	group.Go(func() error { return control.Run(ctx) })
	group.Go(func() error { return agent(ctx) })
	group.Go(func() error { return kept.run(ctx) })
	group.Go(func() error { return exports.Run(ctx) })
	group.Go(func() error { return exports.WriteMetrics(ctx, l.Path("log", "exports.prom"), log) })
	group.Go(quietly(func() { local.WatchInstalled(ctx, l.Refresh, log) }))
	group.Go(quietly(func() { controller.MakeBuckets(ctx, buckets, log) }))
	err = group.Wait()
	if errors.Is(err, controller.ErrStopped) {
		return nil
	}
	return err
}

// quietly is work that says itself what is wrong.
func quietly(do func()) func() error {
	return func() error {
		do()
		return nil
	}
}

// localConfig is what a controller has to know of a local cluster. Launches cost
// nothing here and fail for no lack of machines, but nodes may fail to boot, as
// when a custom action fails.
func localConfig(l *nodes.Layout) (controller.Config, error) {
	c, err := fileOf(l)
	if err != nil {
		return controller.Config{}, err
	}
	w, err := workloadOf(l, c)
	if err != nil {
		return controller.Config{}, err
	}
	data, err := os.ReadFile(l.Path("cluster.yaml"))
	if err != nil {
		return controller.Config{}, err
	}
	client := slurm.Client{Runner: l.HeadRunner()}
	return controller.Config{
		Slurm: client, Jobs: slurm.Proven{Client: client}, Partitions: client,
		Strategy: fleet.Strategy(c.Scheduling.ScalingStrategy),
		Limits:   fleet.Limits{Boot: 30 * time.Second, BurnIn: w.BurnInLimits(c), Retry: time.Minute, Short: 10 * time.Minute, Failures: 10},
		State:    l.Path("fleet.json"),
		Reports:  l.Path("log", "burn-in"),
		Revision: fmt.Sprintf("%x", sha256.Sum256(data)),
		Share:    l.Share,
		Doors:    local.Doors(),
		Refresh:  l.Refresh,
		Register: nodes.Register, EndRunaways: client.EndRunaways, Trust: time.Duration(slurm.LocalTimers().BatchStart+15) * time.Second,
		Slurmctld: func() int {
			status, _ := supervise.LoadStatus(l.Path("run", "services.json"))
			return supervise.PID(status, "slurmctld")
		},
		Services: func() []manifest.Service { return servicesOf(l) },
	}, nil
}

// servicesOf are the services of the head node, as far as their supervisor says.
func servicesOf(l *nodes.Layout) []manifest.Service {
	running, _ := supervise.LoadStatus(l.Path("run", "services.json"))
	var all []manifest.Service
	for _, x := range running {
		all = append(all, manifest.Service{Name: x.Name, Ready: x.Phase == supervise.Ready})
	}
	return all
}

// fileOf is the cluster file that a local cluster runs.
func fileOf(l *nodes.Layout) (*spec.Cluster, error) {
	c, problems := spec.Load(l.Path("cluster.yaml"))
	if c == nil {
		return nil, problems.Err()
	}
	return c, nil
}

// openBuckets prepares what the cluster file links to buckets, and the buckets
// that muster.yaml asks for.
func openBuckets(ctx context.Context, l *nodes.Layout, log *slog.Logger) (*controller.Exports, map[string]store.Store, error) {
	c, err := fileOf(l)
	if err != nil {
		return nil, nil, err
	}
	w, err := workloadOf(l, c)
	if err != nil {
		return nil, nil, err
	}
	all, err := local.Associations(ctx, l, c, w)
	if err != nil {
		return nil, nil, err
	}
	buckets, err := local.Buckets(ctx, l, w)
	return controller.NewExports(all, log), buckets, err
}

// workloadOf is the muster.yaml that a local cluster runs.
func workloadOf(l *nodes.Layout, c *spec.Cluster) (*spec.Workload, error) {
	path := l.Path("muster.yaml")
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return &spec.Workload{}, nil // up writes an empty one where the user has none
	}
	w, problems := spec.LoadWorkload(path, c)
	if w == nil {
		return nil, problems.Err()
	}
	return w, nil
}
