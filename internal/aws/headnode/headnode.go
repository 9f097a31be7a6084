// Package headnode runs the controller of a cluster on AWS: what it has to know of the
// cluster and of EC2, and what the head node answers to its machines beside it.
package headnode

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-hpc/muster/internal/aws/agent"
	"github.com/muster-hpc/muster/internal/aws/api"
	"github.com/muster-hpc/muster/internal/aws/boot"
	"github.com/muster-hpc/muster/internal/aws/join"
	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/aws/nodes"
	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/controller"
	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/job/keeper"
	"github.com/muster-hpc/muster/internal/job/secret"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/services/supervise"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// What the controller of a head node on AWS keeps, on the head node's own disk.
const (
	stateDir = "/var/lib/muster/controller"
	journal  = stateDir + "/launches"
	// Events is the file of the cluster's events.
	Events = agent.LogDir + "/events.jsonl"
)

// Run is the controller of the head node on AWS whose ticket is in a file, until ctx ends
// or the process is stopped. The agent has written the files that it reads.
func Run(ctx context.Context, path string, log *slog.Logger) error {
	ticket, err := agent.ReadTicket(path)
	if err != nil {
		return err
	}
	// Slurm's programs may be where no PATH of a daemon leads.
	if err := os.Setenv("PATH", boot.SystemPath); err != nil {
		return err
	}
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return err
	}
	cloud, err := api.Open(ctx, ticket.Region)
	if err != nil {
		return err
	}
	identity, err := boot.Identify(ctx, cloud.Config())
	if err != nil {
		return err
	}
	c, where, err := control()
	if err != nil {
		return err
	}
	c.Log = log
	c.Cluster, c.Head = ticket.Cluster, identity.Address.String()
	resources := nodes.Resources(c.cluster, where)
	c.Console = cloud.Console
	c.Blocks, c.Limits.Rates = blocksOf(cloud, resources), ratesOf(resources)
	nodes, err := nodes.Open(ctx, nodes.Config{
		Cluster: ticket.Cluster, Resources: resources, Zone: ticket.Zone, ZoneName: ticket.ZoneName,
		Journal: journal, AWS: cloud.Config(), Log: c.Log,
	})
	if err != nil {
		return err
	}
	defer nodes.Close()
	c.Events, err = controller.OpenEvents(Events)
	if err != nil {
		return err
	}
	defer c.Events.Close()
	c.Fleet = nodes
	if c.Exports, err = exportsOf(cloud, c.cluster, log); err != nil {
		return err
	}
	jobs, crew, err := openKeeper(c.owners(), c.Events, log)
	if err != nil {
		return err
	}
	defer crew.Close()
	c.Kept = jobs
	secrets, err := secret.Open(stateDir+"/secrets", slurm.Proven{Client: slurm.Client{Runner: slurm.Exec{}}}, log)
	if err != nil {
		return err
	}
	c.Secrets = secrets
	// The image's user may become root on a machine of EC2.
	users := controller.Users("slurm", c.cluster.DefaultUser())
	return serve(ctx, controller.New(c.Config), kept{jobs, secrets}, c.Head, users, keysOf(cloud, ticket.Cluster))
}

// kept is what keeps jobs, and their secrets.
type kept struct {
	jobs    *keeper.Keeper
	secrets *secret.Store
}

// config is a controller's configuration with the file that it is from.
type config struct {
	controller.Config
	cluster *spec.Cluster
}

// owners are the users who may do on the head node what root may.
func (c config) owners() []int {
	if c.cluster.NoSudo {
		return controller.Users("slurm")
	}
	return controller.Users("slurm", c.cluster.DefaultUser())
}

// control is what the cluster file and the site say of the controller.
func control() (config, manifest.Site, error) {
	file := spec.Open(services.ClusterFile, spec.Options{})
	if file.Cluster == nil {
		return config{}, manifest.Site{}, file.Problems.Err()
	}
	where, err := agent.ReadSite(services.SiteFile)
	if err != nil {
		return config{}, where, err
	}
	workload, err := workloadOf(services.WorkloadFile, file.Cluster)
	if err != nil {
		return config{}, where, err
	}
	client := slurm.Client{Runner: slurm.Exec{}}
	timeout := file.Cluster.Timeouts.ComputeNode
	return config{cluster: file.Cluster, Config: controller.Config{
		Slurm: client, Jobs: slurm.Proven{Client: client}, Partitions: client, Addresses: client, Reservations: client,
		Strategy: fleet.Strategy(file.Cluster.Scheduling.ScalingStrategy),
		Limits: fleet.Limits{
			// Before Slurm's ResumeTimeout, which is the same.
			Boot:   max(timeout-time.Minute, timeout/2),
			BurnIn: workload.BurnInLimits(file.Cluster),
			Retry:  min(5*time.Minute, timeout/2), Short: 10 * time.Minute, Impaired: 3 * time.Minute, Orphan: 5 * time.Minute, Failures: 10,
		},
		Pace:  controller.Pace{Quiet: 10 * time.Second, Eager: time.Second, Observe: 30 * time.Second},
		State: stateDir + "/standing.json", Revision: where.Revision, Reports: agent.LogDir + "/burn-in",
		EndRunaways: client.EndRunaways, Trust: time.Duration(slurm.CloudTimers(0).BatchStart+15) * time.Second,
		Slurmctld: func() int {
			status, _ := agent.Services()
			return supervise.PID(status, "slurmctld")
		},
	}}, where, nil
}

// ratesOf are what instances of compute resources cost: of several types the dearest.
func ratesOf(resources []nodes.Resource) map[slurm.Resource]fleet.Rate {
	rates := map[slurm.Resource]fleet.Rate{}
	for _, r := range resources {
		rate := fleet.Rate{Type: "a reservation's instance"}
		for _, name := range r.Types {
			price, _ := catalog.OnDemand(name)
			if price.USD >= rate.USD {
				rate = fleet.Rate{Type: name, USD: price.USD}
			}
		}
		rates[r.Resource] = rate
	}
	return rates
}

// serve answers Slurm's programs on a socket and machines on the network.
func serve(ctx context.Context, control *controller.Controller, k kept, address string, users []int, keys join.Keys) error {
	socket, err := controller.Listen(services.ControllerSocket)
	if err != nil {
		return err
	}
	machines, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(join.Port)))
	if err != nil {
		return err
	}
	asking, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(join.KeyPort)))
	if err != nil {
		return err
	}
	jobs, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(join.SecretsPort)))
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return control.Serve(ctx, socket, users) })
	group.Go(func() error { return controller.ServeSecrets(ctx, jobs, k.secrets.Give, join.Munge{}) })
	group.Go(func() error { return k.secrets.Run(ctx) })
	group.Go(func() error { return control.ServeNodes(ctx, machines, join.Munge{}) })
	group.Go(func() error { return control.ServeKeys(ctx, asking, keys) })
	group.Go(func() error { return control.Run(ctx) })
	group.Go(func() error { return k.jobs.Run(ctx) })
	group.Go(func() error { return runExports(ctx, control.Exports, control.Log) })
	if err := group.Wait(); !errors.Is(err, controller.ErrStopped) {
		return err
	}
	return nil
}

// blocksOf asks for the capacity blocks that compute resources come from. It is nil
// if there are none.
func blocksOf(cloud *api.Account, all []nodes.Resource) func(context.Context) ([]fleet.Block, error) {
	var blocks []fleet.Block
	for _, r := range all {
		if r.Capacity == "CAPACITY_BLOCK" && r.Reservation != "" {
			blocks = append(blocks, fleet.Block{ID: r.Reservation, Resource: r.Resource})
		}
	}
	if len(blocks) == 0 {
		return nil
	}
	return func(ctx context.Context) ([]fleet.Block, error) {
		list := make([]fleet.Block, len(blocks))
		for i, b := range blocks {
			found, err := cloud.Reservations(ctx, []string{b.ID})
			// EC2 forgets blocks some time after their end: no more than inactive.
			if refusal, ok := errors.AsType[*api.Refusal](err); err != nil && (!ok || refusal.Code != "InvalidCapacityReservationId.NotFound") {
				return nil, err
			}
			r := found[b.ID]
			b.Active, b.Start, b.End = r.State == "active", r.Start, r.End
			list[i] = b
		}
		return list, nil
	}
}
