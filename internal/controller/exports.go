package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/controller/client"
	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/store"
)

// Association ties a directory of shared storage to a prefix of a bucket, as
// the cluster file's data-repository associations do.
type Association struct {
	// Path is the directory as the cluster's machines see it.
	Path string
	Rule export.Rule
	// Record is the file that lists the imported files and the objects of the bucket.
	Record string
	// Place is the directory in which the bucket's objects are plain files; empty if they are elsewhere.
	Place string
	Store store.Store
	// Find finds the bucket when it is used, in place of Store: it is not made. A controller
	// starts without the place where it is.
	Find func(ctx context.Context) (store.Store, error)
	// Pace is export.DefaultPace if it is zero.
	Pace export.Pace
}

// ExportRule is what an export of muster.yaml says. Its directory is that of the cluster's
// machines: where it is elsewhere, the caller says so.
func ExportRule(e spec.Export) export.Rule {
	return export.Rule{
		Dir: e.Directory, Mount: e.Directory, Bucket: e.Bucket, Prefix: e.Prefix,
		New: slices.Contains(e.Policy, "NEW"), Changed: slices.Contains(e.Policy, "CHANGED"), Deleted: slices.Contains(e.Policy, "DELETED"),
		Keep: checkpoint.Policy{Last: e.KeepLast, Every: int64(e.KeepEvery)}, Quiet: e.Quiet,
	}
}

// exports reports whether files of the directory go to the bucket.
func (a Association) exports() bool { return a.Rule.New || a.Rule.Changed || a.Rule.Deleted }

// imports reports whether objects of the bucket come to the directory.
func (a Association) imports() bool { return a.Rule.Import != export.Policy{} }

// Exports keeps buckets and directories alike.
type Exports struct {
	links []*link
	log   *slog.Logger
}

type link struct {
	Association
	mu     sync.Mutex // guards mirror, Store, opened and lost, held for a whole round
	mirror export.Mirror
	opened bool
	lost   bool // an object was not found: the bucket may have been deleted
	bell   <-chan struct{}

	state  sync.Mutex // guards what follows
	status client.ExportStatus
	peeked time.Time // when the directory was looked at for the status
}

// The looks at a directory come quickly while files change and seldom else.
const (
	exportSoon   = 2 * time.Second
	exportSeldom = 10 * time.Second
	longLook     = 200 * time.Millisecond // after one that took longer, memory is given back
)

// NewExports returns the exports of some associations.
func NewExports(all []Association, log *slog.Logger) *Exports {
	e := &Exports{log: log}
	for _, a := range all {
		l := &link{Association: a, mirror: export.Mirror{Rule: a.Rule, Pace: cmp.Or(a.Pace, export.DefaultPace), Store: a.Store, Place: a.Place}}
		l.bell = l.mirror.Bell()
		l.status = client.ExportStatus{Path: a.Path, Bucket: a.Rule.Bucket, Prefix: a.Rule.Prefix, Export: a.exports(), Import: a.imports()}
		e.links = append(e.links, l)
	}
	return e
}

// Run looks after all associations until ctx ends.
func (e *Exports) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, l := range e.links {
		all.Go(func() { l.run(ctx, e.log) })
	}
	all.Wait()
	return nil
}

func (l *link) run(ctx context.Context, log *slog.Logger) {
	defer l.close()
	trouble, blind, loose := "", "", false
	for wait := time.Duration(0); ; {
		if !l.rest(ctx, wait) {
			return
		}
		began := time.Now()
		result, busy, err := l.look(ctx)
		loose = loose || time.Since(began) > longLook
		if ctx.Err() != nil {
			return
		}
		now := troubles(append(result.Import.Failed, err))
		if now != trouble && now != "" {
			log.Warn("mirror failed", "path", l.Path, "bucket", l.Rule.Bucket, "error", now)
		}
		for _, p := range result.Import.Both {
			log.Warn("a file was changed here and in the bucket, and stays", "path", l.Path+"/"+p, "bucket", l.Rule.Bucket)
		}
		if n := result.Import.Removed; n > 0 {
			log.Info("files were deleted, as their objects were", "path", l.Path, "bucket", l.Rule.Bucket, "files", n)
		}
		trouble, wait = now, exportSoon
		if busy {
			continue
		}
		pause, why := l.pause()
		if why != blind && why != "" {
			log.Warn("changes cannot be watched, so all is looked at each time", "path", l.Path, "every", max(exportSeldom, pause), "error", why)
		}
		blind, wait = why, max(exportSeldom, pause)
		if loose {
			debug.FreeOSMemory() // a look at very many files leaves as much behind as it found
			loose = false
		}
	}
}

// rest waits until the next look: for this long, or for a shorter time if something changes.
func (l *link) rest(ctx context.Context, wait time.Duration) bool {
	soon := time.NewTimer(min(wait, exportSoon))
	defer soon.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-soon.C:
	}
	late := time.NewTimer(wait - exportSoon)
	defer late.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-late.C:
	case <-l.bell:
	}
	return true
}

// pause is how long to rest after a look at everything, and why changes cannot be watched, "" if they can.
func (l *link) pause() (time.Duration, string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.mirror.Blind(); err != nil {
		return l.mirror.Rest(), err.Error()
	}
	return l.mirror.Rest(), ""
}

// look runs one round, both ways.
func (l *link) look(ctx context.Context) (result export.Result, busy bool, err error) {
	if err := l.open(ctx); err != nil {
		return result, true, l.note(result, err)
	}
	result, err = l.round(ctx)
	in := result.Import
	// Files that cannot be exported are tried more and more seldom, and do not count as busy, nor do large ones on their way.
	waits := result.Pending - len(result.Blocked) - result.Beside
	busy = err != nil || cmp.Or(len(result.Objects), waits, in.Files, in.Removed, in.Waiting) > 0
	return result, busy, l.note(result, err)
}

// open makes the bucket, again if it was deleted, and opens the record, once. An empty bucket is filled with what
// the directory has, and takes nothing from it.
func (l *link) open(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened && !l.lost {
		return nil
	}
	if err := l.reach(ctx); err != nil {
		return err
	}
	if l.lost {
		l.mirror.LookAgain()
		l.lost = false
	}
	if l.opened {
		return nil
	}
	record, err := export.OpenRecord(l.Record, l.Rule)
	if err != nil {
		return err
	}
	l.mirror.Record, l.opened = record, true
	return nil
}

// reach makes the bucket, or finds it.
func (l *link) reach(ctx context.Context) (err error) {
	if l.Find == nil {
		return l.Store.MakeBucket(ctx)
	}
	if l.Store, err = l.Find(ctx); err == nil {
		l.mirror.Store = l.Store
	}
	return err
}

// bucket is the bucket, opened.
func (l *link) bucket(ctx context.Context) (store.Store, error) {
	if err := l.open(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Store, nil
}

func (l *link) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = errors.Join(l.mirror.Close(), l.mirror.Record.Close()) // each line was written when it was true
	l.mirror.Record, l.opened = nil, false
}

func (l *link) round(ctx context.Context) (export.Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	result, err := l.mirror.Round(ctx, time.Now())
	l.lost = errors.Is(err, store.ErrNotFound)
	return result, err
}

func (l *link) note(r export.Result, err error) error {
	l.state.Lock()
	defer l.state.Unlock()
	l.status.LastLook = time.Now()
	l.status.Imported += r.Import.Files
	l.status.Removed += r.Import.Removed
	l.status.Error = troubles(append(r.Import.Failed, err))
	switch {
	case l.status.Error == "":
		l.status.FailsSince = time.Time{}
	case l.status.FailsSince.IsZero():
		l.status.FailsSince = l.status.LastLook
	}
	return err
}

// told is how many troubles of one kind are told by name.
const told = 5

// troubles is one line of several errors.
func troubles(errs []error) string {
	var all []string
	for _, err := range errs {
		if err != nil {
			all = append(all, err.Error())
		}
	}
	if more := len(all) - told; more > 0 {
		all = append(all[:told], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, "; ")
}

// Verify reads every exported object back and compares it with its file.
func (e *Exports) Verify(ctx context.Context) ([]client.Verification, error) {
	var all []client.Verification
	for _, l := range e.links {
		if !l.exports() {
			continue
		}
		bucket, err := l.bucket(ctx)
		if err != nil {
			return all, fmt.Errorf("verify %s: %w", l.Path, err)
		}
		r, err := export.Verify(ctx, l.Rule, bucket)
		if err != nil {
			return all, fmt.Errorf("verify %s: %w", l.Path, err)
		}
		all = append(all, client.Verification{
			Path: l.Path, Bucket: l.Rule.Bucket, Prefix: l.Rule.Prefix,
			Matched: r.Matched, Missing: r.Missing, Different: r.Different, Extra: r.Extra,
		})
	}
	return all, nil
}
