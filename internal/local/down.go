package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/say/step"
)

// DownOptions say what Down is to take down.
type DownOptions struct {
	Ref Ref
	// DeleteData also deletes what lies on the shared file systems and in the
	// buckets.
	DeleteData bool
	Report     step.Reporter
}

// Down ends the cluster and proves that nothing of it is left. It may be
// repeated, and goes on where an earlier one was cut off. Before, it waits for
// the last export; the end of ctx then ends that wait, and not the rest.
func Down(ctx context.Context, o DownOptions) (place.Answer, error) {
	done := place.Answer{Cluster: o.Ref.Name}
	s := &step.Series{Report: o.Report}
	err := down(ctx, o, s, &done)
	done.Steps = s.Done
	return done, err
}

func down(ctx context.Context, o DownOptions, s *step.Series, done *place.Answer) error {
	unlock, err := o.Ref.lock()
	if err != nil {
		return err
	}
	defer unlock()
	l := o.Ref.Layout()
	if err := o.removable(); err != nil {
		return err
	}
	if !o.DeleteData {
		if err := exportLast(ctx, l, s, done); err != nil {
			return err
		}
		if ctx.Err() != nil { // the wait for the export was interrupted, which ends the cluster all the same
			ctx = context.WithoutCancel(ctx)
		}
		noteEach(o.Report, keepNextJob(ctx, l), keepMadeOf(l)) // on a full disk, too, a cluster can be taken down
	}
	var traces nodes.Traces
	if err := s.Do("end all processes", func() (detail string, err error) {
		theirs, err := l.Mounts()
		if err != nil {
			return "", err
		}
		traces, err = l.Stop(ctx)
		traces.Theirs = theirs
		return count.Of(traces.Processes, "process"), err
	}); err != nil {
		return err
	}
	if err := s.Do("remove the run directory", func() (string, error) { return remove(l, o.DeleteData) }); err != nil {
		return err
	}
	return s.Do("prove that nothing is left", func() (string, error) { return prove(ctx, l, traces) })
}

// noteEach notes errors that stop nothing, each in a line of its own.
func noteEach(report step.Reporter, errs ...error) {
	for _, err := range errs {
		if err != nil {
			report.Note(err.Error())
		}
	}
}

// exportLast waits for the last export, and notes the files that are not in the buckets.
func exportLast(ctx context.Context, l *nodes.Layout, s *step.Series, done *place.Answer) error {
	e := &lastExport{layout: l, control: Controller(l), report: s.Report}
	if _, alive := l.Alive(); !alive {
		done.NotExported = unasked(l)
		if done.NotExported == nil {
			return nil // there is nothing to wait for
		}
		return s.Do(exporting, func() (string, error) { return "not done: " + done.NotExported.Why, nil })
	}
	return s.Do(exporting, func() (detail string, err error) {
		detail, done.NotExported = e.run(ctx)
		return detail, nil
	})
}

// kept are the parts of the run directory that hold the user's data.
var kept = []string{"shared", "s3", "registry", "links", nextJobFile, madeOfFile}

func remove(l *nodes.Layout, deleteData bool) (string, error) {
	dir, err := os.Open(l.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "there is none", nil
	}
	if err != nil {
		return "", err
	}
	defer dir.Close()
	// First: without its record a run directory is no cluster.
	if err := sweep(dir, "cluster.json"); err != nil {
		return "", err
	}
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if name == markFile || !deleteData && (holdsData(l, name) || !made(l, name)) {
			continue
		}
		if err := sweep(dir, name); err != nil {
			return "", err
		}
	}
	return removed(l)
}

// removed removes the run directory itself if nothing is left in it.
func removed(l *nodes.Layout) (string, error) {
	if left, err := os.ReadDir(l.Dir); err == nil && slices.ContainsFunc(left, func(e fs.DirEntry) bool { return e.Name() != markFile }) {
		return "kept the data in " + l.Dir, nil
	}
	if err := sweepPath(l, markFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := os.Remove(l.Dir); errors.Is(err, unix.EBUSY) {
		return "emptied " + l.Dir + ", where something is mounted", nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return "removed " + l.Dir, nil
}

// holdsData tells whether a part of the run directory holds any file of the
// user's, or a mount of his.
func holdsData(l *nodes.Layout, name string) bool {
	if name == "links" || name == nextJobFile || name == madeOfFile { // they describe the others
		return holdsData(l, "shared") || holdsData(l, "s3")
	}
	if !slices.Contains(kept, name) {
		return false
	}
	if mounts, err := l.Mounts(name); err != nil || len(mounts) > 0 {
		return true
	}
	return holdsFile(l.Path(name))
}

// holdsFile tells whether there is any file in a directory or below.
func holdsFile(dir string) bool {
	found := false
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !d.IsDir() {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// prove looks for everything that a cluster is made of.
func prove(ctx context.Context, l *nodes.Layout, t nodes.Traces) (string, error) {
	var left []string
	err := await(ctx, 2*time.Second, lookEvery, func() (bool, error) {
		var err error
		left, err = l.Leftovers(t)
		return len(left) == 0, err
	})
	if len(left) > 0 {
		return "", fmt.Errorf("still there: %s", strings.Join(left, "; "))
	}
	return "no process, mount, namespace, socket or network interface", err
}
