package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/step"
	"github.com/muster-hpc/muster/internal/services"
	"github.com/muster-hpc/muster/internal/services/supervise"
	"github.com/muster-hpc/muster/internal/slurm"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/tail"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// UpOptions say what Up is to bring up.
type UpOptions struct {
	Ref      Ref
	File     *spec.Cluster
	Workload *spec.Workload
	// Source and WorkloadSource are the files' bytes.
	Source, WorkloadSource []byte
	// WorkDir is shown on every machine at its own path.
	WorkDir string
	// NoTest leaves the test job out. Tested, if there is one, is told of it when it has run.
	NoTest bool
	Tested func(place.TestJob)
	Report step.Reporter
}

// Up makes the cluster what its file says, whatever there is of it: nothing, a
// part after a crash, or one that runs jobs, which go on. It ends when the
// cluster answers, its directories are as asked and a test job has run.
func Up(ctx context.Context, o UpOptions) ([]step.Step, error) {
	unlock, err := o.Ref.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	l := o.Ref.Layout()
	u := &up{UpOptions: o, layout: l, steps: step.Series{Report: o.Report}}
	err = u.run(ctx)
	return u.steps.Done, err
}

type up struct {
	UpOptions
	steps  step.Series
	layout *nodes.Layout
	config config
	// accounted is what was done to accounts before slurmctld started again.
	accounted string
	changed   bool // slurm.conf or another file that running daemons have read
}

func (u *up) run(ctx context.Context) error {
	if err := u.steps.Do("write configuration", func() (string, error) { return u.write(ctx) }); err != nil {
		return err
	}
	if err := u.steps.Do("prepare containers", func() (string, error) { return u.containers(ctx) }); err != nil {
		return err
	}
	if err := u.steps.Do("start head node", func() (string, error) { return u.start(ctx) }); err != nil {
		return orFormer(u.layout, u.Ref.Name, err)
	}
	if err := errors.Join(dropFormer(u.layout), u.allRead()); err != nil {
		return err
	}
	if err := u.accountsStep(ctx); err != nil {
		return err
	}
	if err := u.steps.Do("make directories", u.directories); err != nil {
		return err
	}
	if err := u.steps.Do("wait for static nodes", func() (string, error) { return u.static(ctx) }); err != nil {
		return err
	}
	if err := u.steps.Do("say what is not here", func() (string, error) { return notHere(u.File, u.config.record.Region, SSHInstalled()), nil }); err != nil {
		return err
	}
	if u.NoTest {
		return nil
	}
	return u.steps.Do("run test job", func() (string, error) { return u.test(ctx) })
}

// write makes the run directory.
func (u *up) write(ctx context.Context) (string, error) {
	l := u.layout
	old, err := l.Record()
	switch {
	case err == nil && old.UID != l.UID:
		return "", fmt.Errorf("cluster %s belongs to user %s", u.Ref.Name, old.User)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", u.Ref.damagedRecord(err)
	}
	if err := u.room(); err != nil {
		return "", err
	}
	if err := installed(services.Programs); err != nil {
		return "", err
	}
	if err := u.prepared(ctx); err != nil {
		return "", err
	}
	record, err := u.record(old)
	if err != nil {
		return "", err
	}
	u.config, err = newConfig(l, record, u.File, u.Workload)
	if err != nil {
		return "", err
	}
	if err := u.removable(ctx); err != nil {
		return "", err
	}
	if err := keepFormer(l, u.works(), u.Source); err != nil {
		return "", fmt.Errorf("keep the file that the cluster was made of: %w", err)
	}
	changes := u.changes()
	if err := u.writeAll(); err != nil {
		return "", err
	}
	// Last: a run directory with a record is one that can be started.
	return l.Dir + changes, l.ChangeRecord(func(old nodes.Record) nodes.Record {
		if !old.Created.IsZero() {
			record.Created = old.Created
		}
		record.Keep(old)
		return record
	})
}

// record is what the cluster is made with from now on.
func (u *up) record(old nodes.Record) (nodes.Record, error) {
	dir := u.WorkDir
	_, alive := u.layout.Alive()
	if alive {
		dir = "" // only the controller shows what machines that run do not have yet
	}
	r, err := newRecord(u.layout, u.Ref.Name, u.File.File, dir, u.File, u.Workload)
	if alive {
		r.Region = cmp.Or(old.Region, r.Region) // programs of jobs that run sign their requests with it
	}
	return r, err
}

// prepared makes the run directory and tries what Slurm would get. Of a cluster that
// is refused before there ever was one, nothing stays.
func (u *up) prepared(ctx context.Context) error {
	_, err := os.Lstat(u.layout.Dir)
	first := errors.Is(err, fs.ErrNotExist)
	if err := makeDirectories(u.layout, daemons(u.layout, "")); err != nil {
		return err
	}
	err = u.tried(ctx)
	if err != nil && first {
		_, undo := remove(u.layout, true)
		err = errors.Join(err, undo)
	}
	return err
}

func (u *up) writeFiles() error {
	if err := u.config.linkGPUs(); err != nil {
		return err
	}
	files, err := u.config.files(u.Source, u.WorkloadSource)
	if err != nil {
		return err
	}
	for _, f := range files {
		changed, err := f.write(u.layout)
		if err != nil {
			return err
		}
		u.changed = u.changed || changed
	}
	if _, alive := u.layout.Alive(); alive {
		return nil // a supervisor that runs keeps to the services it began with
	}
	return whole.JSON(u.layout.Path("etc", "services.json"), services.Services(u.config.params))
}

// start starts the anchor, or has the daemons of a cluster that runs take up
// what changed, and waits until all services answer.
func (u *up) start(ctx context.Context) (string, error) {
	_, was := u.layout.Alive()
	detail, err := u.startOnce(ctx)
	if _, is := u.layout.Alive(); err == nil || !was || is {
		return detail, err
	}
	return u.startOnce(ctx) // it was dying when we came: start another one
}

func (u *up) startOnce(ctx context.Context) (string, error) {
	anchor, alive := u.layout.Alive()
	if !alive {
		_ = os.Remove(u.layout.Path("run", "services.json"))
		var err error
		anchor, err = u.layout.StartAnchor(u.layout.Path("bin", "muster"))
		if err != nil {
			return "", err
		}
	} else if u.changed {
		if err := u.accountsFirst(ctx); err != nil {
			return "", err
		}
		if err := u.restart(ctx, anchor); err != nil {
			return "", err
		}
	}
	if err := u.services(ctx, anchor); err != nil {
		return "", err
	}
	state := "started"
	if alive {
		state = "was running"
	}
	if err := u.showWorkDir(ctx); err != nil {
		return "", err
	}
	if err := settle(ctx, u.layout); err != nil {
		return "", err
	}
	return fmt.Sprintf("process %d %s, %s answer", anchor.PID, state, strings.Join(u.serviceNames(), ", ")), nil
}

// shutdowns is how often slurmctld is told to end: one that an `up` told which was cut off may end first.
const shutdowns = 5

// restart has slurmctld and the controller start again with the new files. Jobs
// do not notice.
func (u *up) restart(ctx context.Context, a nodes.AnchorProcess) error {
	log, client := u.logFrom("slurmctld"), slurmOf(u.layout, a)
	// The one that was told to end may answer still.
	answers := func(before int) func() (bool, error) {
		return func() (bool, error) {
			pid := u.pidOf("slurmctld")
			return pid != 0 && pid != before && client.Ping(ctx) == nil, log.hopeless()
		}
	}
	before, err := 0, error(nil)
	for range shutdowns {
		before = u.pidOf("slurmctld")
		if err = client.Shutdown(ctx); !errors.Is(err, slurm.ErrUnreachable) {
			break
		}
		// It ends, or is being started and may have read the files as they were.
		if err := await(ctx, 30*time.Second, askEvery, answers(0)); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	_ = Controller(u.layout).Restart(ctx) // one that does not answer is being started
	if err := await(ctx, 30*time.Second, askEvery, answers(before)); err != nil {
		return err
	}
	return client.Reconfigure(ctx)
}

const servicesWait = 60 * time.Second

// errHeadEnded says that the process which starts the services has ended.
var errHeadEnded = errors.New("the head node's first process ended")

// services waits until every service answers.
func (u *up) services(ctx context.Context, anchor nodes.AnchorProcess) error {
	began, log := time.Now(), u.logFrom("slurmctld")
	var status []supervise.Status
	err := await(ctx, servicesWait, lookEvery, func() (bool, error) {
		var err error
		status, err = supervise.LoadStatus(u.layout.Path("run", "services.json"))
		if _, alive := u.layout.Alive(); !alive {
			return false, errHeadEnded
		}
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		if err := hanging(status, time.Now()); err != nil {
			return false, err
		}
		waiting := unready(status)
		if len(waiting) > 0 && time.Since(began) > time.Second {
			u.Report.Waiting("start head node", strings.Join(waiting, ", "), time.Since(began))
		}
		if slices.Contains(waiting, "slurmctld") && err == nil {
			err = log.hopeless()
		}
		return err == nil && len(waiting) == 0, err
	})
	if _, hopeless := errors.AsType[hopelessError](err); err == nil || hopeless {
		return err
	}
	if errors.Is(err, errHeadEnded) {
		return fmt.Errorf("%w %s%s", err, anchor.Ended(), lastWords(u.layout.Path("log", "anchor.log")))
	}
	if waiting := unready(status); len(waiting) > 0 && !errors.Is(err, errHangs) {
		return fmt.Errorf("%s did not start: %w: %s", waiting[0], err, endOf(u.layout.Path("log", waiting[0]+".log")))
	}
	return err
}

func (u *up) serviceNames() []string {
	var names []string
	for _, s := range services.Services(u.config.params) {
		names = append(names, s.Name)
	}
	return names
}

// static waits until the nodes that are always on have registered.
func (u *up) static(ctx context.Context) (string, error) {
	var names []string
	for _, g := range u.config.slurm.Groups {
		if g.Static {
			names = append(names, g.Names()...)
		}
	}
	if len(names) == 0 {
		return "none in the file", nil
	}
	return u.awaitStatic(ctx, names)
}

func (u *up) awaitStatic(ctx context.Context, names []string) (string, error) {
	anchor, _ := u.layout.Alive()
	began := time.Now()
	err := await(ctx, 2*time.Minute+u.Workload.BurnInLimit(), askEvery, func() (bool, error) {
		all, err := slurmOf(u.layout, anchor).Nodes(ctx)
		if err != nil {
			return false, err
		}
		up := registered(all, names)
		if time.Since(began) > time.Second {
			u.Report.Waiting("wait for static nodes", fmt.Sprintf("%d of %d registered%s", up, len(names), spec.BurnInWords(u.Workload.BurnInLimit())), time.Since(began))
		}
		return up == len(names), nil
	})
	return fmt.Sprintf("%d registered", len(names)), err
}

// registered is how many of the nodes with these names are up.
func registered(all []slurm.Node, names []string) int {
	up := 0
	for _, n := range all {
		if slices.Contains(names, n.Name) && slices.Contains([]string{"idle", "mixed", "allocated", "completing"}, n.State.Long()) {
			up++
		}
	}
	return up
}

// lastWords is the end of a log for the end of an error, empty if it says nothing.
func lastWords(path string) string {
	if text := endOf(path); text != "" {
		return "; its log ends with: " + text
	}
	return ""
}

// endOf is the end of a log, or why it cannot be read.
func endOf(path string) string {
	lines, err := tail.File(path, 0, 3)
	if err != nil {
		return err.Error()
	}
	return strings.Join(lines, " | ")
}
