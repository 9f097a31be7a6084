// Package keeper keeps jobs that wish it running until they are done: it follows what they
// write, says how they are, finds out why a run ended, and has the job go on from its last whole
// checkpoint, elsewhere if a node was at fault.
//
// Its laws: a run is judged once and followed by at most one requeue of the keeper's, whenever
// it is killed; a job that does not ask for it is not touched; what a user wrote is looked at
// with that user's rights; and a record that is damaged stops no other.
//
//	look: jobs, nodes, logs, checkpoints -> decide: judge, exclusions, hang -> act: drain, mend, requeue
package keeper

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job/errand"
	"github.com/muster-hpc/muster/internal/job/probe"
	"github.com/muster-hpc/muster/internal/slurm"
)

// queue is the part of Slurm's client that looks at what there is. A problem with a job's number is a job that is there and could
// not be read: see slurm.Proven.
type queue interface {
	Jobs(ctx context.Context) ([]slurm.Job, []slurm.Problem, error)
	Job(ctx context.Context, id int) (slurm.Job, error)
	Nodes(ctx context.Context) ([]slurm.Node, error)
	BatchScript(ctx context.Context, id int) ([]byte, error)
}

// ledger is the part of it that knows what was.
type ledger interface {
	Steps(ctx context.Context, id int, since time.Time) ([]slurm.Step, error)
	Administrator(ctx context.Context, user string) (bool, error)
}

// orders is the part of it by which a job goes on, or does not. It knows jobs by their labels: the
// number of an array's task may be the array's.
type orders interface {
	RequeueHeld(ctx context.Context, job string) error
	Hold(ctx context.Context, job string) error
	ReleaseAt(ctx context.Context, job string, at time.Time) error
}

// fates is the part of it that ends jobs, and takes nodes from them or out of service.
type fates interface {
	Cancel(ctx context.Context, job string) error
	Exclude(ctx context.Context, job string, nodes []string) error
	UpdateNodes(ctx context.Context, names []string, state, reason string) error
}

// files are those of jobs' users.
type files interface {
	Read(ctx context.Context, u errand.User, r errand.Reading) (errand.Chunk, error)
	Checkpoints(ctx context.Context, u errand.User, dirs []string) ([]errand.Checkpoint, error)
	Mend(ctx context.Context, u errand.User, m errand.Mending) (errand.Diagnosis, error)
}

// Event is something that the keeper found or did.
type Event struct {
	Job    int
	Kind   string
	Nodes  []string
	Reason string
	Hint   string
}

// Config is what a keeper works with.
type Config struct {
	Queue  queue
	Ledger ledger
	Orders orders
	Fates  fates
	Files  files
	Scribe scribe
	// Owners are the users who may take nodes out of service beside those whom Slurm calls administrators: root, Slurm's
	// own user, and whose the cluster is.
	Owners []int
	// Probe asks the nodes of a job that is silent what its processes do; nil where nobody can.
	Probe func(ctx context.Context, j slurm.Job) ([]probe.Report, error)
	// State is a directory of the keeper's own.
	State string
	Tell  func(Event)
	Log   *slog.Logger
	Pace  Pace
}

// Pace says how often a keeper looks. A zero is what suits a place on this machine.
type Pace struct {
	// Quiet is the time between two rounds when there is nothing to keep, Busy else.
	Quiet, Busy time.Duration
	// Checkpoints is the shortest time between two looks at a job's checkpoints.
	Checkpoints time.Duration
	// Save is how long what was read may be lost to a crash: it is read again then.
	Save time.Duration
	// Patience is how long a round waits for users whose files are slow.
	Patience time.Duration
}

// Keeper keeps jobs. New makes one.
type Keeper struct {
	Config
	wake   chan struct{}
	adopts chan adoption

	slots chan struct{}  // of those who ask users' files
	hands sync.WaitGroup // of shifts

	lock sync.Mutex // guards what follows, and all records; it is let go while users' files are asked

	records map[int]*record
	// busy are the users whose jobs are looked at now, troubles what was wrong with them, turns how
	// often rounds had them looked at, and broken what a shift could not go on from.
	busy     map[errand.User]bool
	troubles map[errand.User]error
	turns    int
	broken   any
	// plain are the jobs, or their arrays, that do not ask to be kept.
	plain map[int]bool
	// forsaken are the jobs of which it was said that their secrets did not come.
	forsaken map[int]bool
	// again are the jobs of which that could not be found out.
	again map[int]try
	nodes []slurm.Node
	// unclear are the jobs of which nothing is known in this round, though they are there.
	unclear map[int]bool
	saved   time.Time
	// asks are the looks at processes that are under way, free holds one thing for each.
	asks sync.WaitGroup
	free chan struct{}
	// drains are when nodes were drained lately.
	drains []time.Time

	mu      sync.Mutex // guards what follows
	reports map[int]client.JobReport
}

const (
	quietEvery      = 5 * time.Second
	busyEvery       = time.Second
	checkpointEvery = 20 * time.Second
	saveEvery       = 15 * time.Second
	// spare is how many times longer than a look the pause before the next one is, restMost how
	// long it is at most for that reason.
	spare    = 10
	restMost = 5 * time.Second
)

// New returns a keeper that knows what the one before it wrote down.
func New(c Config) (*Keeper, error) {
	c.Pace.Quiet, c.Pace.Busy = orTime(c.Pace.Quiet, quietEvery), orTime(c.Pace.Busy, busyEvery)
	c.Pace.Checkpoints, c.Pace.Save = orTime(c.Pace.Checkpoints, checkpointEvery), orTime(c.Pace.Save, saveEvery)
	c.Pace.Patience = orTime(c.Pace.Patience, patience)
	k := &Keeper{
		Config: c, wake: make(chan struct{}, 1), adopts: make(chan adoption), free: make(chan struct{}, asksAtOnce),
		records: map[int]*record{}, plain: map[int]bool{}, forsaken: map[int]bool{}, reports: map[int]client.JobReport{},
	}
	k.patiently()
	return k, k.load()
}

func orTime(d, other time.Duration) time.Duration {
	if d == 0 {
		return other
	}
	return d
}

// Wake makes the next round begin now.
func (k *Keeper) Wake() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Run runs rounds until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	defer k.asks.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			k.hands.Wait()
			return k.saveAll()
		case a := <-k.adopts:
			a.reply <- k.adopt(ctx, a)
			continue
		case <-k.wake:
		case <-timer.C:
		}
		began := time.Now()
		err := k.round(ctx)
		if text := textOf(err); text != said && ctx.Err() == nil {
			said = text
			if err != nil {
				k.Log.Warn("jobs could not be looked at", "error", err)
			}
		}
		timer.Reset(max(k.every(), min(restMost, spare*time.Since(began))))
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// every is the pause between two rounds.
func (k *Keeper) every() time.Duration {
	k.lock.Lock()
	defer k.lock.Unlock()
	for _, r := range k.records {
		if r.active() {
			return k.Pace.Busy
		}
	}
	return k.Pace.Quiet
}

// Reports are what is known of all kept jobs.
func (k *Keeper) Reports() []client.JobReport {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := make([]client.JobReport, 0, len(k.reports))
	for _, r := range k.reports {
		all = append(all, r)
	}
	sortReports(all)
	return all
}

// Report is what is known of one, nil if it is not kept.
func (k *Keeper) Report(id int) *client.JobReport {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r, ok := k.reports[id]; ok {
		return &r
	}
	return nil
}
