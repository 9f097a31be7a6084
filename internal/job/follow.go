package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

const (
	// outputPace is how often the output is looked at.
	outputPace = 100 * time.Millisecond
	// The state is looked at often while it changes, less often later.
	fastPace, slowPace = 200 * time.Millisecond, 2 * time.Second
	// slurmQuiet is how long Slurm may not answer before the user hears of it,
	// slurmGone how long before there is no use in going on.
	slurmQuiet, slurmGone = 5 * time.Second, 10 * time.Minute
)

// Source is what is asked of Slurm.
type Source interface {
	Job(ctx context.Context, id int) (slurm.Job, error)
	Nodes(ctx context.Context) ([]slurm.Node, error)
	History(ctx context.Context, w slurm.Window) ([]slurm.Run, []slurm.Problem, error)
	Script(ctx context.Context, id int) ([]byte, error)
}

var _ Source = slurm.Client{}

// Follower shows a job to its user: what happens to it and what it writes.
type Follower struct {
	Slurm Source
	// Out takes what the job writes to its standard output, Err what it writes to
	// its standard error if that is another file. A nil one is not read.
	Out, Err io.Writer
	// Also, if there is one, is called each time that the output of a job that has started was looked at, the last time
	// after its end.
	Also func(j slurm.Job) error
	// Fate, if there is one, is asked what follows the end of a run that is not what its user wanted. An error says that
	// nobody can tell now.
	Fate func(ctx context.Context, j slurm.Job) (Fate, error)
	// BurnIn is View.BurnIn.
	BurnIn map[string]time.Duration
	// Say takes what happens to the job, a line each, which goes on from "the
	// job".
	Say func(line string)
}

// Follow follows a job until it has ended and is not started again, through all its runs,
// and returns the last view. It fails if ctx ends, if the job is not known (slurm.ErrNoJob),
// if Out or Err cannot be written, or if Slurm does not answer for ten minutes.
// The job itself is never touched.
func (f Follower) Follow(ctx context.Context, id int) (View, error) {
	ctx, cancel := context.WithCancel(ctx)
	looks := make(chan look)
	done := make(chan struct{})
	go func() { defer close(done); watch(ctx, f.Slurm, id, View{BurnIn: f.BurnIn}, looks) }()
	defer func() { cancel(); <-done }()

	s := &following{Follower: f}
	defer s.close()
	tick := time.NewTicker(outputPace)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return s.view, context.Cause(ctx)
		case <-tick.C:
			err = s.pump(ctx)
		case l := <-looks:
			err = s.take(ctx, l)
		}
		if err != nil || s.over {
			return s.view, err
		}
	}
}

// look is what one look at Slurm gave.
type look struct {
	view View
	err  error
	at   time.Time
}

// watch looks at a job, of which only what is in last is known, until it has ended or ctx ends.
func watch(ctx context.Context, s Source, id int, last View, looks chan<- look) {
	changed := time.Now()
	for {
		v, err := Look(ctx, s, id, last)
		now := time.Now()
		select {
		case looks <- look{v, err, now}:
		case <-ctx.Done():
			return
		}
		if err == nil {
			if v.Job.State != last.Job.State || v.Job.Restarts != last.Job.Restarts {
				changed = now
			}
			last = v
		}
		if pause.For(ctx, pace(now.Sub(changed))) != nil {
			return
		}
	}
}

// pace is the wait until the next look at a job that has not changed for a time.
func pace(unchanged time.Duration) time.Duration {
	return min(max(unchanged/20, fastPace), slowPace)
}

// Look looks at a job, and at its nodes if that explains something. last is what
// was known before, the zero View if nothing. A job that slurmctld has forgotten
// is taken from the history; slurm.ErrNoJob is one that never was.
func Look(ctx context.Context, s Source, id int, last View) (View, error) {
	j, err := s.Job(ctx, id)
	if errors.Is(err, slurm.ErrNoJob) {
		j, err = remembered(ctx, s, id)
	}
	if err != nil {
		return View{}, err
	}
	j = resolved(j)
	v := View{Job: j, Lost: last.Lost, BurnIn: last.BurnIn}
	requeued := last.Job.ID != 0 && j.Restarts > last.Job.Restarts
	failed := j.State == "NODE_FAIL"
	switch {
	case j.Again && last.Job.ID == 0:
		return leaving(ctx, s, v)
	case j.State != "CONFIGURING" && !requeued && !failed:
		return v, nil
	}
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return View{}, err
	}
	switch {
	case requeued:
		v.Lost = LostNodes(last.Job.NodeList, nodes, last.Job.StartTime)
	case failed:
		v.Lost = LostNodes(j.NodeList, nodes, j.StartTime)
	default:
		v.Starting = starting(j.NodeList, nodes)
	}
	return v, nil
}

// leaving is the first view of a job that is about to be queued again. Its last run
// is in the history alone.
func leaving(ctx context.Context, s Source, v View) (View, error) {
	history, _, _ := s.History(ctx, slurm.Ever(v.Job.ID))
	runs := RunsOf(history, v.Job.ID)
	v.Before = lastState(runs)
	if v.Before != "NODE_FAIL" {
		return v, nil
	}
	nodes, err := s.Nodes(ctx)
	if err != nil {
		return View{}, err
	}
	last := runs[len(runs)-1]
	v.Lost = LostNodes(last.NodeList, nodes, last.Start)
	return v, nil
}

// remembered is a job that slurmctld has forgotten, as far as the history
// knows it. Both questions are asked at once: each takes a tenth of a second.
func remembered(ctx context.Context, s Source, id int) (slurm.Job, error) {
	var script []byte
	var unread error
	var asked sync.WaitGroup
	asked.Go(func() { script, unread = s.Script(ctx, id) })
	runs, _, err := s.History(ctx, slurm.Ever(id))
	asked.Wait()
	if err != nil {
		return slurm.Job{}, err
	}
	runs = RunsOf(runs, id)
	if len(runs) == 0 {
		return slurm.Job{}, fmt.Errorf("job %d: %w", id, slurm.ErrNoJob)
	}
	j := jobOf(runs)
	if script != nil {
		j.StdOut, j.StdErr = outputPaths(script, runs[len(runs)-1])
	}
	return j, unread
}

// following is the state of Follow.
type following struct {
	Follower
	view    View
	outputs []*stream
	// silent is since when Slurm has not answered, zero if it does; told says
	// that the user knows.
	silent time.Time
	told   bool
	// said is the view of which the user has heard.
	said View
	// open is a run that has ended of which more is to be heard, over says that the job has ended for good.
	open *open
	over bool
}

// stream is one of the job's files and where it goes.
type stream struct {
	Output
	to   io.Writer
	told bool // the user knows that it cannot be read
}

// take takes what one look gave.
func (s *following) take(ctx context.Context, l look) error {
	if l.err != nil {
		return s.noAnswer(l)
	}
	if s.told {
		s.Say("is seen again: Slurm answers")
	}
	s.silent, s.told = time.Time{}, false
	before := s.view
	s.view = l.view
	// What the job wrote comes before its end, and after its start.
	if starts := ran(l.view.Job) && !ran(before.Job); !starts {
		if err := s.pump(ctx); err != nil {
			return err
		}
	}
	s.openOutputs()
	if l.view.Job.Ended() && (!before.Job.Ended() || before.Job.Restarts != l.view.Job.Restarts) {
		if err := s.last(ctx); err != nil {
			return err
		}
	}
	if l.view.Job.Ended() {
		s.tell()
	}
	if s.decide(ctx, l.at) {
		s.tell()
	}
	return s.pump(ctx)
}

// tell says what has happened since the user heard of the job last.
func (s *following) tell() {
	for _, line := range Changes(s.said, s.view) {
		s.Say(line)
	}
	s.said = s.view
}

func (s *following) noAnswer(l look) error {
	if errors.Is(l.err, slurm.ErrNoJob) {
		return l.err
	}
	if s.silent.IsZero() {
		s.silent = l.at
	}
	quiet := l.at.Sub(s.silent)
	if quiet >= slurmGone {
		return fmt.Errorf("no answer from Slurm for %s: %w", Span(quiet), l.err)
	}
	if quiet >= slurmQuiet && !s.told {
		s.told = true
		s.Say("goes on, but Slurm does not answer; still asking")
	}
	return nil
}

// openOutputs makes the streams of a job that has started.
func (s *following) openOutputs() {
	j := s.view.Job
	if len(s.outputs) > 0 || !Started(j) {
		return
	}
	since := WrittenSince(j)
	add := func(path string, to io.Writer) {
		if to != nil && path != "" {
			s.outputs = append(s.outputs, &stream{Output: Output{Path: path, UID: j.UID, Since: since}, to: to})
		}
	}
	add(j.StdOut, s.Out)
	if j.StdErr != j.StdOut || s.Out == nil {
		add(j.StdErr, s.Err)
	}
}

// WrittenSince is since when a job's own output was written to; a file that is
// older is another job's, which had the same name. It is zero where any is the
// job's.
func WrittenSince(j slurm.Job) time.Time {
	if j.Restarts > 0 || j.Ended() {
		return time.Time{}
	}
	return j.StartTime
}

func (s *following) close() {
	for _, o := range s.outputs {
		o.Close()
	}
}

// pump writes what is new in the job's files.
func (s *following) pump(ctx context.Context) error {
	for _, o := range s.outputs {
		for more := true; more && ctx.Err() == nil; {
			var err error
			if more, err = o.Copy(destination{o.to}); err == nil {
				continue
			}
			if errors.Is(err, errDestination) {
				return err
			}
			more = false
			if !o.told {
				o.told = true
				s.Say(fmt.Sprintf("has output that cannot be read: %v", err))
			}
		}
	}
	if s.Also != nil && Started(s.view.Job) && ctx.Err() == nil {
		return s.Also(s.view.Job)
	}
	return nil
}

// last reads the end of the files of a job that has ended.
func (s *following) last(ctx context.Context) error {
	for _, o := range s.outputs {
		o.Since = time.Time{}
		if err := o.reopen(); err != nil {
			return err
		}
	}
	if err := s.pump(ctx); err != nil {
		return err
	}
	launched := s.view.Job.ExitCode.Signal != launchSignal
	for _, o := range s.outputs {
		if launched && !o.Open() && !o.told {
			s.Say("left no output here: " + whyNoOutput(o.Path))
		}
	}
	return nil
}

// whyNoOutput says why there is no file.
func whyNoOutput(path string) string {
	dir := filepath.Dir(path)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return "there is no folder " + dir + " for it, and Slurm makes none"
	}
	return "there is no file " + path + " (is its folder a node's own?)"
}

// errDestination marks errors of the place where the output goes.
var errDestination = errors.New("write the job's output")

// destination tells errors of writing from those of reading.
type destination struct{ io.Writer }

func (d destination) Write(p []byte) (int, error) {
	n, err := d.Writer.Write(p)
	if err != nil {
		err = fmt.Errorf("%w: %w", errDestination, err)
	}
	return n, err
}
