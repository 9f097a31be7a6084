//go:build linux

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/user"
	"strconv"
	"sync"
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
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/supervise"
)

// What the controller of a head node on AWS keeps, on the head node's own disk.
const (
	cloudState   = "/var/lib/muster/controller"
	cloudEvents  = agent.LogDir + "/events.jsonl"
	cloudJournal = cloudState + "/launches"
)

// runCloudController is the controller of a head node on AWS. The agent has written
// what it reads.
func (a *app) runCloudController(ctx context.Context, path string) error {
	ticket, err := agent.ReadTicket(path)
	if err != nil {
		return err
	}
	// Slurm's programs may be where no PATH of a daemon leads.
	if err := os.Setenv("PATH", boot.SystemPath); err != nil {
		return err
	}
	if err := os.MkdirAll(cloudState, 0o700); err != nil {
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
	c, where, err := cloudControl()
	if err != nil {
		return err
	}
	c.Log = slog.New(slog.NewTextHandler(a.err, nil))
	c.Cluster, c.Head = ticket.Cluster, identity.Address.String()
	resources := nodes.Resources(c.cluster, where)
	c.Console = cloud.Console
	c.Blocks, c.Limits.Rates = blocksOf(cloud, resources), ratesOf(resources)
	nodes, err := nodes.Open(ctx, nodes.Config{
		Cluster: ticket.Cluster, Resources: resources, Zone: ticket.Zone, ZoneName: ticket.ZoneName,
		Journal: cloudJournal, AWS: cloud.Config(), Log: c.Log,
	})
	if err != nil {
		return err
	}
	defer nodes.Close()
	c.Events, err = controller.OpenEvents(cloudEvents)
	if err != nil {
		return err
	}
	defer c.Events.Close()
	c.Fleet = nodes
	return serveCloud(ctx, controller.New(c.Config), c.Head, keysOf(cloud, ticket.Cluster))
}

// cloudConfig is a controller's configuration with the file that it is from.
type cloudConfig struct {
	controller.Config
	cluster *spec.Cluster
}

// cloudControl is what the cluster file and the site say of the controller.
func cloudControl() (cloudConfig, manifest.Site, error) {
	file := spec.Open(services.ClusterFile, spec.Options{})
	root, ok := file.Root()
	if file.Cluster == nil || !ok {
		return cloudConfig{}, manifest.Site{}, file.Problems.Err()
	}
	where, err := readSite()
	client := slurm.Client{Runner: slurm.Exec{}}
	timeout := time.Duration(root.At("DevSettings.Timeouts.ComputeNodeBootstrapTimeout").Int()) * time.Second
	return cloudConfig{cluster: file.Cluster, Config: controller.Config{
		Slurm: client, Jobs: client, Partitions: client, Addresses: client, Reservations: client,
		Strategy: fleet.Strategy(file.Cluster.Scheduling.ScalingStrategy),
		Limits: fleet.Limits{
			// Before Slurm's ResumeTimeout, which is the same.
			Boot:  max(timeout-time.Minute, timeout/2),
			Retry: min(5*time.Minute, timeout/2), Short: 10 * time.Minute, Impaired: 3 * time.Minute, Orphan: 5 * time.Minute, Failures: 10,
		},
		Pace:  controller.Pace{Quiet: 10 * time.Second, Eager: time.Second, Observe: 30 * time.Second},
		State: cloudState + "/standing.json", Revision: where.Revision,
		EndRunaways: client.EndRunaways, Trust: time.Duration(slurm.CloudTimers(0).BatchStart+15) * time.Second,
		Slurmctld: func() int {
			status, _ := agent.Services()
			return supervise.PID(status, "slurmctld")
		},
	}}, where, err
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
		rates[slurm.Resource{Queue: r.Queue, Name: r.Name}] = rate
	}
	return rates
}

// serveCloud answers Slurm's programs on a socket and machines on the network.
func serveCloud(ctx context.Context, control *controller.Controller, address string, keys join.Keys) error {
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
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return control.Serve(ctx, socket, append(controllers(), administrators()...)) })
	group.Go(func() error { return control.ServeNodes(ctx, machines, join.Munge{}) })
	group.Go(func() error { return control.ServeKeys(ctx, asking, keys) })
	group.Go(func() error { return control.Run(ctx) })
	if err := group.Wait(); !errors.Is(err, controller.ErrStopped) {
		return err
	}
	return nil
}

// keysOf gives the machine's munge key to the cluster's login nodes, too.
func keysOf(cloud *api.Account, cluster string) join.Keys {
	return join.Keys{
		Key:    func() ([]byte, error) { return os.ReadFile(agent.MungeKeyFile) },
		Member: (&logins{account: cloud, cluster: cluster}).has,
	}
}

// logins are the addresses of a cluster's login nodes.
type logins struct {
	account *api.Account
	cluster string

	mu     sync.Mutex // guards what follows; one at a time asks EC2
	looked time.Time
	known  map[netip.Addr]bool
}

// loginsEvery is how often EC2 is asked for them at most, whoever asks us.
const loginsEvery = 5 * time.Second

func (l *logins) has(ctx context.Context, address netip.Addr) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known[address] && time.Since(l.looked) < time.Minute || time.Since(l.looked) < loginsEvery {
		return l.known[address], nil
	}
	l.looked = time.Now()
	all, err := l.account.OfRole(ctx, l.cluster, manifest.RoleLogin)
	if err != nil {
		return false, err
	}
	l.known = map[netip.Addr]bool{}
	for _, i := range all {
		if a, err := netip.ParseAddr(i.Address); err == nil && !i.Gone() {
			l.known[a] = true
		}
	}
	return l.known[address], nil
}

// administrators are those who may become root on a machine of EC2: the image's user.
func administrators() []int {
	file, _ := spec.Load(services.ClusterFile) // the controller has read it
	if file == nil {
		return nil
	}
	u, err := user.Lookup(file.DefaultUser())
	if err != nil {
		return nil
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil
	}
	return []int{uid}
}

func readSite() (manifest.Site, error) {
	var s manifest.Site
	data, err := os.ReadFile(services.SiteFile)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("read %s: %w", services.SiteFile, err)
	}
	return s, nil
}

// siteTypes are the instance types of the cluster whose head node this is, nil
// elsewhere.
func siteTypes() *catalog.Newer {
	s, err := readSite()
	if err != nil {
		return nil
	}
	return s.Types
}
