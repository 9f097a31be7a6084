package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/store"
)

// Association ties a directory of shared storage to a prefix of a bucket, as
// the cluster file's data-repository associations do.
type Association struct {
	// Path is the directory as the cluster's machines see it.
	Path string
	Rule export.Rule
	// Import fills the directory with what the bucket has and it lacks.
	Import bool
	Store  store.Store
}

// exports reports whether files of the directory go to the bucket.
func (a Association) exports() bool { return a.Rule.New || a.Rule.Changed || a.Rule.Deleted }

// ExportStatus is what is known of one association.
type ExportStatus struct {
	Path   string `json:"path"`
	Bucket string `json:"bucket"`
	Prefix string `json:"prefix,omitempty"`
	Export bool   `json:"export"`
	Import bool   `json:"import"`
	// Pending is how many files wait to be exported.
	Pending int `json:"pending"`
	// Exported and Imported count the files that this controller has copied.
	Exported int       `json:"exported"`
	Imported int       `json:"imported"`
	LastLook time.Time `json:"last_look,omitzero"`
	Error    string    `json:"error,omitempty"`
}

// Exports keeps buckets and directories alike.
type Exports struct {
	links []*link
	log   *slog.Logger
}

type link struct {
	Association
	mu     sync.Mutex // guards mirror, held for a whole round
	mirror export.Mirror

	state  sync.Mutex // guards status
	status ExportStatus
}

// The looks at a directory come quickly while files change and seldom else.
const (
	exportSoon   = 2 * time.Second
	exportSeldom = 10 * time.Second
	importEvery  = time.Minute
)

// NewExports returns the exports of some associations.
func NewExports(all []Association, log *slog.Logger) *Exports {
	e := &Exports{log: log}
	for _, a := range all {
		l := &link{Association: a, mirror: export.Mirror{Rule: a.Rule, Pace: export.DefaultPace, Store: a.Store}}
		l.status = ExportStatus{Path: a.Path, Bucket: a.Rule.Bucket, Prefix: a.Rule.Prefix, Export: a.exports(), Import: a.Import}
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
	var imported time.Time
	trouble := ""
	for wait := time.Duration(0); ; {
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		busy, err := l.look(ctx, &imported)
		if ctx.Err() != nil {
			return
		}
		now := ""
		if err != nil {
			now = err.Error()
		}
		if now != trouble && now != "" {
			log.Warn("export failed", "path", l.Path, "bucket", l.Rule.Bucket, "error", now)
		}
		trouble, wait = now, exportSeldom
		if busy {
			wait = exportSoon
		}
	}
}

// look imports what is due and runs one round of the export.
func (l *link) look(ctx context.Context, imported *time.Time) (busy bool, err error) {
	if imported.IsZero() {
		if err := l.Store.MakeBucket(ctx); err != nil {
			return true, l.note(export.Result{}, 0, err)
		}
	}
	count, importErr := 0, error(nil)
	if l.Import && time.Since(*imported) >= importEvery {
		count, importErr = export.Import(ctx, l.Rule, l.Store)
	}
	if importErr == nil && (l.Import || imported.IsZero()) {
		*imported = time.Now()
	}
	if !l.exports() {
		return count > 0 || importErr != nil, l.note(export.Result{}, count, importErr)
	}
	// What cannot come in keeps nothing from going out.
	result, err := l.round(ctx)
	err = errors.Join(importErr, err)
	return len(result.Objects) > 0 || result.Pending > 0 || err != nil, l.note(result, count, err)
}

func (l *link) round(ctx context.Context) (export.Result, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mirror.Round(ctx, time.Now())
}

func (l *link) note(r export.Result, imported int, err error) error {
	l.state.Lock()
	defer l.state.Unlock()
	l.status.LastLook, l.status.Error = time.Now(), ""
	l.status.Imported += imported
	l.status.Exported += len(r.Objects)
	if err != nil {
		l.status.Error = err.Error()
		return err
	}
	l.status.Pending = r.Pending
	return nil
}

// Status is what is known of every association, by path.
func (e *Exports) Status() []ExportStatus {
	all := make([]ExportStatus, len(e.links))
	for i, l := range e.links {
		l.state.Lock()
		all[i] = l.status
		l.state.Unlock()
	}
	slices.SortFunc(all, func(a, b ExportStatus) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

// Flush exports until nothing waits, or until ctx ends.
func (e *Exports) Flush(ctx context.Context) error {
	var errs []error
	for _, l := range e.links {
		if l.exports() {
			errs = append(errs, l.flush(ctx))
		}
	}
	return errors.Join(errs...)
}

func (l *link) flush(ctx context.Context) error {
	tick := time.NewTicker(exportSoon / 4)
	defer tick.Stop()
	for {
		result, err := l.round(ctx)
		if err := l.note(result, 0, err); err != nil {
			return fmt.Errorf("export %s: %w", l.Path, err)
		}
		if result.Pending == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("export %s: %d files still wait: %w", l.Path, result.Pending, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// Verification is what reading one association back showed.
type Verification struct {
	Path   string `json:"path"`
	Bucket string `json:"bucket"`
	Prefix string `json:"prefix,omitempty"`
	// Matched counts the files whose objects have the same SHA-256.
	Matched int `json:"matched"`
	// Missing are files without an object, Different those with another content,
	// Extra objects whose files are gone.
	Missing   []string `json:"missing,omitempty"`
	Different []string `json:"different,omitempty"`
	Extra     []string `json:"extra,omitempty"`
}

// Verify reads every exported object back and compares it with its file.
func (e *Exports) Verify(ctx context.Context) ([]Verification, error) {
	var all []Verification
	for _, l := range e.links {
		if !l.exports() {
			continue
		}
		r, err := export.Verify(ctx, l.Rule, l.Store)
		if err != nil {
			return all, fmt.Errorf("verify %s: %w", l.Path, err)
		}
		all = append(all, Verification{
			Path: l.Path, Bucket: l.Rule.Bucket, Prefix: l.Rule.Prefix,
			Matched: r.Matched, Missing: r.Missing, Different: r.Different, Extra: r.Extra,
		})
	}
	return all, nil
}
