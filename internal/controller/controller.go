// Package controller is the head-node daemon. It brings together what Slurm
// wants, what the provider has and what fleet decides, round after round. It
// promises that a lost request, a late answer or its own death costs only time: every
// round starts from the present state.
package controller

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/aws/manifest"
	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/slurm"
)

// nodeClient is the part of Slurm's client that is about nodes.
type nodeClient interface {
	Nodes(ctx context.Context) ([]slurm.Node, error)
	UpdateNodes(ctx context.Context, names []string, state, reason string) error
}

// addressClient is the part of it that tells Slurm where nodes answer.
type addressClient interface {
	SetAddresses(ctx context.Context, names, addresses []string) error
}

// jobClient is the part of it that is about jobs.
type jobClient interface {
	Jobs(ctx context.Context) ([]slurm.Job, []slurm.Problem, error)
	Requeue(ctx context.Context, job string) error
	Cancel(ctx context.Context, job string) error
}

// partitionClient is the part of it that is about partitions.
type partitionClient interface {
	Partitions(ctx context.Context) ([]slurm.Partition, error)
	SetPartition(ctx context.Context, name, state string) error
}

// reservationClient is the part of it that is about reservations.
type reservationClient interface {
	Reservations(ctx context.Context) ([]slurm.Reservation, error)
	Reserve(ctx context.Context, name string, nodes []string) error
	Unreserve(ctx context.Context, name string) error
}

// Config is what a controller works with.
type Config struct {
	Fleet      provider.Provider
	Slurm      nodeClient
	Jobs       jobClient
	Partitions partitionClient
	// Addresses is nil where slurm.conf has the nodes' addresses.
	Addresses addressClient
	// Blocks says which capacity blocks there are; nil is none. Reservations hold
	// the nodes of those that are not active.
	Blocks       func(ctx context.Context) ([]fleet.Block, error)
	Reservations reservationClient

	// Console is what an instance's console shows; nil where there is none.
	Console func(ctx context.Context, instance string) (string, error)

	Strategy fleet.Strategy
	Limits   fleet.Limits
	Pace     Pace
	// State is the file that keeps what a user decided about the fleet: stopped, or
	// protected from boots that fail.
	State string
	// Cluster, Revision and Head are what machines that join are told. A Revision
	// that is new ends the fleet's protection.
	Cluster, Revision, Head string

	// Slurmctld is the process of the slurmctld that runs now, 0 for none, and Register
	// has all nodes register with it, nil where nodes see to that themselves.
	Slurmctld func() int
	Register  func(ctx context.Context) error
	// EndRunaways ends, in the accounting alone, jobs that run there and that slurmctld
	// does not know, and says which. It is there where Slurmctld is.
	EndRunaways func(ctx context.Context) ([]string, error)
	// Services are those of the head node, nil where others know them.
	Services func() []manifest.Service
	// Trust is how long a slurmctld that starts believes of its jobs what it read.
	Trust time.Duration

	// Reports is the directory for what burn-ins found on machines that are unfit; without it none is kept.
	Reports string
	Events  *Events
	Log     *slog.Logger
	// Exports may be nil.
	Exports *Exports
	// Kept keeps jobs; nil keeps none.
	Kept keeper
	// Secrets keeps jobs' secrets where Kept keeps jobs; nil keeps none.
	Secrets secrets
	// Share shows a directory of the user's machine on every machine of the cluster;
	// nil where they share none.
	Share func(dir string) error
	// Doors are addresses of services that callers outside the cluster's network are
	// joined with, by their names.
	Doors map[string]string
	// Refresh has every machine look anew at the files of the user's machine; nil where
	// they see none.
	Refresh func() error
}

// Pace says how often a controller looks. A zero is what suits a place on this
// machine.
type Pace struct {
	// Quiet is the time between two rounds when nothing happens, and Eager while a
	// job waits for its nodes.
	Quiet, Eager time.Duration
	// Observe is the shortest time between two looks at all instances, unless
	// something has to be known for sure. What was started and ended meanwhile is
	// known without.
	Observe time.Duration
}

// Controller keeps the fleet as Slurm wants it. New makes one.
type Controller struct {
	Config
	wake chan struct{}
	// addresses has a word in it when some wait to be told to Slurm.
	addresses chan struct{}
	registry  *registry
	desired   *desired

	// What follows is the rounds' own.

	// losses are those that jobs may have failed of, observed is when the
	// instances were last seen.
	losses   []fleet.Loss
	observed time.Time
	// jobsSeen says that jobs were looked at since a node last went down.
	jobsSeen bool
	// sure says that the next round has to see the instances themselves.
	sure bool
	// failed are the actions that could not be done in the last round.
	failed map[string]bool
	// resumed is World.Resumed, rising the nodes that the last look saw powering up.
	resumed map[string]time.Time
	rising  map[string]bool
	// slurmctld is the process of the one that the last round spoke to, registerAt when
	// nodes register with it once more, settleAt when the accounting is to hear what it
	// does not know; zero is never.
	slurmctld            int
	registerAt, settleAt time.Time
	// lastSeen are the nodes of the last look at Slurm, by name.
	lastSeen map[string]slurm.Node
	// stranded is since when nodes are.
	stranded map[string]time.Time
	// launching are the nodes whose launch is under way.
	launching map[string]bool
	launches  sync.WaitGroup
	pending   []pendingJob
	pauses    pauses
	tally     fleet.Tally
	// told is World.Told.
	told map[string]fleet.Told
	// heard are the instances whose proof was heard, by ID; nil before the first look.
	heard map[string]bool
	// bootFailed is World.BootFailed.
	bootFailed map[string]string
	blocks     blocks

	mu      sync.Mutex // guards what follows
	inbox   inbox
	trouble string
	// lastWords are those of nodes whose boot failed.
	lastWords map[string]lastWords
	// blind is what was said of what machines could not look at.
	blind map[string]bool
	// awaitedBySlurm are the nodes that the last look saw powering up.
	awaitedBySlurm map[string]bool
	// over says of capacity blocks that they have ended.
	over    []string
	waiters map[*waiter]bool  // calls of Await
	lookers map[*waiter]bool  // calls of Settle
	toTell  map[string]string // addresses by node
}

// inbox is what came in since the last round.
type inbox struct {
	resumed    []resumption
	launched   []*launchResult
	bootFailed map[string]string
	forgive    bool
}

// resumption is a call of ResumeProgram.
type resumption struct {
	at    time.Time
	nodes []string
	jobs  []fleet.PendingJob
}

const (
	// A quiet round is a second look in case a message was lost.
	quietEvery = 5 * time.Second
	// After a change the next look comes soon, and sooner while a job waits for
	// its nodes.
	busyEvery  = 500 * time.Millisecond
	eagerEvery = 100 * time.Millisecond
	// When something did not answer, the round is repeated after this.
	retryAfter = time.Second
)

// New returns a controller that is ready to run.
func New(c Config) *Controller {
	c.Pace.Quiet = cmp.Or(c.Pace.Quiet, quietEvery)
	c.Pace.Eager = cmp.Or(c.Pace.Eager, eagerEvery)
	return &Controller{
		Config: c, wake: make(chan struct{}, 1), addresses: make(chan struct{}, 1), registry: newRegistry(), desired: &desired{path: c.State},
		observed: time.Now().Add(-awayAtMost), sure: true, resumed: map[string]time.Time{}, rising: map[string]bool{},
		stranded: map[string]time.Time{}, launching: map[string]bool{}, failed: map[string]bool{}, tally: fleet.Tally{}, bootFailed: map[string]string{}, told: map[string]fleet.Told{},
		waiters: map[*waiter]bool{}, lookers: map[*waiter]bool{}, toTell: map[string]string{}, blind: map[string]bool{}, lastWords: map[string]lastWords{},
	}
}

// Resume notes that Slurm wants nodes, for jobs in the order in which they are to
// be served, and returns at once.
func (c *Controller) Resume(nodes []string, jobs []fleet.PendingJob) {
	c.mu.Lock()
	c.inbox.resumed = append(c.inbox.resumed, resumption{at: time.Now(), nodes: nodes, jobs: jobs})
	c.mu.Unlock()
	c.Wake()
}

// Wake makes the next round begin now.
func (c *Controller) Wake() { ring(c.wake) }

func ring(bell chan<- struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// Run runs rounds until ctx ends, and waits for what it began.
func (c *Controller) Run(ctx context.Context) error {
	defer c.launches.Wait()
	if err := c.begin(); err != nil {
		return err
	}
	if c.Addresses != nil {
		c.launches.Go(func() { c.tellAddresses(ctx) })
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
		case node := <-c.Fleet.Ended():
			c.ended(node)
		case <-timer.C:
		}
		began := time.Now()
		acted, err := c.round(ctx)
		c.note(err)
		if err == nil {
			c.settled(began)
		}
		timer.Reset(c.pause(acted, err))
	}
}

func (c *Controller) pause(acted bool, err error) time.Duration {
	switch {
	case err != nil:
		return retryAfter
	case c.awaited():
		return c.Pace.Eager
	case acted || c.mourning():
		return busyEvery
	}
	return c.pauses.next(time.Now(), c.Pace.Quiet)
}

// note logs a problem once, and its end.
func (c *Controller) note(err error) {
	now := ""
	if err != nil {
		now = err.Error()
	}
	c.mu.Lock()
	before := c.trouble
	c.trouble = now
	c.mu.Unlock()
	switch {
	case now == before:
	case now != "":
		c.Log.Warn("round failed", "error", now)
	default:
		c.Log.Info("rounds succeed again")
	}
}
