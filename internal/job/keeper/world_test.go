package keeper

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/job/errand"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/test/ram"
)

// world is a Slurm with one job of two nodes, and that job's files.
type world struct {
	t      *testing.T
	job    slurm.Job
	script string
	nodes  []slurm.Node
	steps  []slurm.Step
	logs   map[string]string
	found  []errand.Checkpoint
	// unfound says which directories of checkpoints cannot be read.
	unfound error

	// torn are checkpoints that are, and moved those that were put aside; stuck says that none is whole.
	torn  []errand.Repair
	moved map[string]string
	stuck string
	// ended is up to when what changed was said to be the run's, shrunk since when it had fewer nodes; unwell says why nothing can be moved.
	ended, shrunk time.Time
	unwell        error
	repairs       int

	// written are the files that the keeper extends, full says why it cannot.
	written map[string]string
	full    error
	put     map[string]string // files beside logs
	save    time.Duration

	owners []int
	admins []string
	// unanswered says why the accounting does not tell who is an administrator.
	unanswered error

	// others are jobs besides, patience is that of rounds.
	others   []slurm.Job
	patience time.Duration
	// closed says why the accounting does not answer.
	closed error
	// odd are jobs that Slurm's whole answer does not tell; alones says why one cannot be asked for alone, alone how often one was.
	odd    []slurm.Problem
	alones error
	alone  int
	// scripts says of a job why its script cannot be read, reads how often it was tried.
	scripts func(id int) error
	reads   map[int]int
	// hands look at users' files in its place.
	hands hands

	requeues, holds, cancels, mends int
	drained                         []string
	refuses                         error // to exclude nodes
	released                        time.Time
	events                          []Event
	// calls counts what was asked and done; the keeper dies before or after the one of number deadly.
	calls, deadly int
	state         string
}

// hands are all that is asked of users' files.
type hands interface {
	files
	scribe
}

// died is how a keeper ends that is killed.
type died struct{}

const asking = "#!/bin/bash\n#MUSTER --checkpoints=/fsx/ck --restarts=5\nsrun train\n"

// start is a second that Slurm knows.
var start = time.Now().Add(-5 * time.Minute).Truncate(time.Second)

func newWorld(t *testing.T) *world {
	w := &world{t: t, script: asking, logs: map[string]string{}, written: map[string]string{}, put: map[string]string{}, save: time.Nanosecond, state: ram.Dir(t)}
	for i := range 4 {
		w.nodes = append(w.nodes, slurm.Node{Name: fmt.Sprintf("q-dy-r-%d", i+1), Partitions: []string{"q"}, State: slurm.ParseNodeState("IDLE+CLOUD")})
	}
	w.job = slurm.Job{
		ID: 7, Name: "llama", User: "ada", UID: 1000, GID: 1000, Partition: "q", State: "RUNNING", NodeList: "q-dy-r-[1-2]", NumNodes: 2, NumTasks: 2,
		Batch: true, Requeue: true, StartTime: start, StdOut: "/fsx/7.out", StdErr: "/fsx/7.out", WorkDir: "/fsx",
	}
	return w
}

// keeper is one that begins with what the one before it wrote down.
func (w *world) keeper() *Keeper {
	w.t.Helper()
	k, err := New(Config{
		Queue: w, Ledger: w, Orders: w, Fates: w, Files: w, Scribe: w, Owners: w.owners, State: w.state, Log: slog.New(slog.DiscardHandler),
		Tell: func(e Event) { w.events = append(w.events, e) }, Pace: Pace{Save: w.save, Checkpoints: time.Nanosecond},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	if w.hands != nil {
		k.Files, k.Scribe = w.hands, w.hands
		k.patiently()
	}
	k.Pace.Patience = cmp.Or(w.patience, time.Hour)
	return k
}

// rounds runs rounds, and what Slurm does meanwhile. A keeper that dies is followed by another.
func (w *world) rounds(n int) *Keeper {
	w.t.Helper()
	k := w.keeper()
	for range n {
		if !w.round(k) {
			k = w.keeper()
		}
		w.schedule()
	}
	return k
}

func (w *world) round(k *Keeper) (lives bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, dead := r.(died); !dead {
				panic(r)
			}
		}
	}()
	if err := k.round(w.t.Context()); err != nil {
		w.t.Error(err)
	}
	return true
}

// schedule starts the job if it may start.
func (w *world) schedule() {
	if w.job.State == "PENDING" && !held(w.job) {
		w.job.State, w.job.StartTime, w.job.NodeList = "RUNNING", w.job.StartTime.Add(time.Minute), "q-dy-r-[3-4]"
	}
}

// fails ends the job's run.
func (w *world) fails(state string, code int) {
	w.job.State, w.job.ExitCode, w.job.EndTime = state, slurm.ExitCode{Code: code}, w.job.StartTime.Add(30*time.Second)
	own := slurm.Step{State: state, ExitCode: w.job.ExitCode, Start: w.job.StartTime, End: w.job.EndTime, NodeList: w.job.NodeList}
	srun := own
	srun.Name, srun.Tasks, srun.Layout = "0", len(expand(w.job.NodeList)), "Cyclic"
	w.steps = append(w.steps, own, srun)
}

// loses has Slurm take a node from the job and queue the job again.
func (w *world) loses(i int) {
	w.steps = append(w.steps, slurm.Step{State: "NODE_FAIL", Start: w.job.StartTime, End: w.job.StartTime.Add(30 * time.Second), NodeList: w.job.NodeList})
	w.nodes[i].Reason, w.nodes[i].ReasonTime = "muster: the instance ended", time.Now()
	w.job.State, w.job.Restarts, w.job.Reason, w.job.NodeList = "PENDING", w.job.Restarts+1, "BeginTime", ""
}

// call may be the keeper's last.
func (w *world) call() func() {
	w.calls++
	if w.calls == w.deadly {
		panic(died{})
	}
	return func() {
		if w.calls++; w.calls == w.deadly {
			panic(died{})
		}
	}
}

func (w *world) Jobs(context.Context) ([]slurm.Job, []slurm.Problem, error) {
	defer w.call()()
	all := append([]slurm.Job{w.job}, w.others...)
	hidden := func(j slurm.Job) bool {
		return slices.ContainsFunc(w.odd, func(p slurm.Problem) bool { return p.Job == j.ID })
	}
	return slices.DeleteFunc(all, hidden), slices.Clone(w.odd), nil
}

func (w *world) Job(_ context.Context, id int) (slurm.Job, error) {
	w.alone++
	if w.alones != nil {
		return slurm.Job{}, w.alones
	}
	for _, j := range append([]slurm.Job{w.job}, w.others...) {
		if j.ID == id {
			return j, nil
		}
	}
	return slurm.Job{}, slurm.ErrNoJob
}

func (w *world) Nodes(context.Context) ([]slurm.Node, error) {
	defer w.call()()
	return slices.Clone(w.nodes), nil
}

func (w *world) BatchScript(_ context.Context, id int) ([]byte, error) {
	if w.reads == nil {
		w.reads = map[int]int{}
	}
	w.reads[id]++
	if w.scripts != nil && w.scripts(id) != nil {
		return nil, w.scripts(id)
	}
	return []byte(w.script), nil
}

func (w *world) Steps(_ context.Context, _ int, since time.Time) ([]slurm.Step, error) {
	defer w.call()()
	if w.closed != nil {
		return nil, w.closed
	}
	return slices.DeleteFunc(slices.Clone(w.steps), func(s slurm.Step) bool { return s.Start.Before(since) }), nil
}

func (w *world) Administrator(_ context.Context, user string) (bool, error) {
	return slices.Contains(w.admins, user), w.unanswered
}

// meant complains of what is done to another job than the one that there is, or to more.
func (w *world) meant(job string) {
	if job != w.job.Label() {
		w.t.Errorf("it was done to job %s, not to %s", job, w.job.Label())
	}
}

func (w *world) RequeueHeld(_ context.Context, job string) error {
	w.meant(job)
	defer w.call()()
	if w.job.State == "PENDING" {
		return nil
	}
	w.requeues++
	w.job.State, w.job.Reason, w.job.NodeList = "PENDING", "job_requeued_in_held_state", ""
	w.job.Restarts++
	return nil
}

func (w *world) Hold(_ context.Context, job string) error {
	w.meant(job)
	defer w.call()()
	w.holds++
	w.job.Reason = "JobHeldAdmin"
	return nil
}

func (w *world) ReleaseAt(_ context.Context, job string, at time.Time) error {
	w.meant(job)
	defer w.call()()
	w.job.Reason, w.released = "BeginTime", at
	return nil
}

func (w *world) Cancel(_ context.Context, job string) error {
	w.meant(job)
	defer w.call()()
	w.cancels++
	w.job.State = "CANCELLED"
	return nil
}

func (w *world) Exclude(_ context.Context, job string, nodes []string) error {
	w.meant(job)
	defer w.call()()
	if w.refuses == nil {
		w.job.ExcNodeList = slurm.Compress(nodes)
	}
	return w.refuses
}

func (w *world) UpdateNodes(_ context.Context, names []string, state, reason string) error {
	defer w.call()()
	for i := range w.nodes {
		if slices.Contains(names, w.nodes[i].Name) {
			w.drained = append(w.drained, w.nodes[i].Name)
			w.nodes[i].State, w.nodes[i].Reason, w.nodes[i].ReasonTime = slurm.ParseNodeState("IDLE+CLOUD+"+state), reason, time.Now()
		}
	}
	return nil
}

func (w *world) Read(_ context.Context, u errand.User, r errand.Reading) (errand.Chunk, error) {
	defer w.call()()
	if u != w.user() {
		w.t.Errorf("%s is read as %v", r.Path, u)
	}
	text, ok := w.logs[r.Path]
	if !ok {
		return errand.Chunk{}, fs.ErrNotExist
	}
	from := min(r.Offset, int64(len(text)))
	to := min(from+int64(r.MostBytes), int64(len(text)))
	return errand.Chunk{Offset: from, Data: []byte(text[from:to]), Size: int64(len(text)), Inode: 1, Changed: time.Now()}, nil
}

func (w *world) Put(_ context.Context, _ errand.User, f errand.File) error {
	w.put[f.Path] = string(f.Data)
	return nil
}

func (w *world) Extend(_ context.Context, u errand.User, e errand.Extension) error {
	defer w.call()()
	if u != w.user() {
		w.t.Errorf("%s is written as %v", e.Path, u)
	}
	before, there := w.written[e.Path]
	switch {
	case w.full != nil:
		return w.full
	case int64(len(before)) < e.SizeBytes || !there && e.SizeBytes > 0:
		return fs.ErrNotExist
	}
	w.written[e.Path] = before[:e.SizeBytes] + string(e.Data)
	return nil
}

func (w *world) user() errand.User { return errand.User{UID: w.job.UID, GID: w.job.GID} }

func (w *world) Checkpoints(context.Context, errand.User, []string) ([]errand.Checkpoint, error) {
	defer w.call()()
	return slices.Clone(w.found), w.unfound
}

func (w *world) Mend(_ context.Context, _ errand.User, m errand.Mending) (errand.Diagnosis, error) {
	defer w.call()()
	if len(m.Repairs) > 0 {
		return w.repair(m.Repairs)
	}
	w.mends++
	w.ended, w.shrunk = m.Ended, m.Shrunk
	d := errand.Diagnosis{Stuck: w.stuck}
	for _, r := range w.torn {
		if w.moved[r.Path] == "" {
			d.Repairs = append(d.Repairs, r)
		}
	}
	return d, nil
}

func (w *world) repair(all []errand.Repair) (errand.Diagnosis, error) {
	if w.repairs++; w.unwell != nil {
		return errand.Diagnosis{}, w.unwell
	}
	if w.moved == nil {
		w.moved = map[string]string{}
	}
	if w.job.State == "PENDING" && !held(w.job) {
		w.t.Error("checkpoints are moved while the job may start")
	}
	for _, r := range all {
		w.moved[r.Path] = r.Now
	}
	return errand.Diagnosis{Repairs: all}, nil
}

func sampleAt(step int64) client.JobSample { return client.JobSample{Step: step, At: start} }
