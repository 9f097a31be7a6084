package nodes

import (
	"cmp"
	"log/slog"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
)

// Config is what a fleet works with.
type Config struct {
	Cluster string
	// Resources are those of the cluster file: see Resources.
	Resources []Resource
	// Zone is the ID of the Route 53 zone that has the nodes' names, ZoneName its
	// name. Without a zone, no names are made.
	Zone, ZoneName string
	// Journal is the path of the journal of launches.
	Journal string
	// AWS are credentials and region, and how AWS is reached.
	AWS aws.Config
	Log *slog.Logger
	// Limits may be zero.
	Limits Limits
	// Now is the clock; nil is the time of day.
	Now func() time.Time
}

// Resource is a compute resource: a group of equal nodes, with a launch template of
// its own.
type Resource struct {
	slurm.Resource
	// Template is the launch template's name.
	Template string
	// Types are the instance types that EC2 may choose from, Subnets likewise. With
	// one of each, the launch template says which.
	Types, Subnets []string
	// Capacity is ONDEMAND, SPOT or CAPACITY_BLOCK.
	Capacity string
	// Strategy is the cluster file's AllocationStrategy, SpotPrice the most that an
	// hour may cost.
	Strategy, SpotPrice string
	// Reservation is the ID of the capacity reservation or block that its nodes come
	// from, if it is one and not a group of them.
	Reservation string
	// Static and Dynamic are how many nodes there are.
	Static, Dynamic int
	// Tags are the cluster file's for its nodes. Of two with one key the later counts.
	Tags []spec.Tag
}

// Resources are the compute resources of a cluster.
func Resources(c *spec.Cluster, s manifest.Site) []Resource {
	var all []Resource
	for _, q := range c.Scheduling.Queues {
		for _, r := range q.ComputeResources {
			all = append(all, Resource{
				Resource: slurm.Resource{Queue: q.Name, Name: r.Name}, Template: s.Cluster + "-" + q.Name + "-" + r.Name,
				Types: r.InstanceTypes, Subnets: s.Subnets[q.Name],
				Capacity: q.CapacityType, Strategy: q.AllocationStrategy, SpotPrice: r.SpotPrice,
				Reservation: r.Reservation.ID, Static: r.MinCount, Dynamic: r.MaxCount - r.MinCount, Tags: slices.Concat(c.Tags, q.Tags, r.Tags),
			})
		}
	}
	return all
}

// single tells whether one RunInstances call can launch the nodes: there is nothing
// to choose from.
func (r *Resource) single() bool { return len(r.Types) <= 1 && len(r.Subnets) <= 1 }

// resource finds a compute resource, nil if there is none.
func (c *Config) resource(of slurm.Resource) *Resource {
	for i, r := range c.Resources {
		if r.Resource == of {
			return &c.Resources[i]
		}
	}
	return nil
}

// owns tells whether a node is one of the resource's.
func (r *Resource) owns(node string) bool {
	if r == nil {
		return false
	}
	_, ok := slurm.ParseNodeName(node, func(n slurm.NodeName) bool {
		count := r.Dynamic
		if n.Static {
			count = r.Static
		}
		return n.Resource == r.Resource && 1 <= n.Number && n.Number <= count
	})
	return ok
}

// Limits are the fleet's patience and haste. Zero is the usual.
type Limits struct {
	// Batch is the most instances of one call.
	Batch int
	// Calls is how many launches are under way at once. EC2 lets an account make five
	// RunInstances calls in one go, and then two in a second:
	// https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html
	Calls int
	// Attempts is how often a call is made that was throttled or lost.
	Attempts int
	// Answer is how long one attempt of a call may take.
	Answer time.Duration
	// Pause is the first wait before such a call is made again, PauseMost the longest.
	Pause, PauseMost time.Duration
	// Lag is how long EC2 may take to show an instance that it has started, or to stop
	// showing one that it has ended.
	Lag time.Duration
	// Settled is when what a lost call has started must have shown itself.
	Settled time.Duration
	// Health is how often EC2 is asked for what it has against the instances.
	Health time.Duration
}

func (l Limits) usual() Limits {
	l.Batch, l.Calls, l.Attempts = cmp.Or(l.Batch, 1000), cmp.Or(l.Calls, 5), cmp.Or(l.Attempts, 8)
	l.Answer = cmp.Or(l.Answer, time.Minute)
	l.Pause, l.PauseMost = cmp.Or(l.Pause, time.Second), cmp.Or(l.PauseMost, 20*time.Second)
	l.Lag, l.Settled = cmp.Or(l.Lag, 3*time.Minute), cmp.Or(l.Settled, 10*time.Minute)
	l.Health = cmp.Or(l.Health, time.Minute)
	return l
}
