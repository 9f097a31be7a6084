package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/export"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/store"
)

const (
	// flushPatience is how long the last export waits for files that are being written.
	flushPatience = 5 * time.Second
	// flushLooks is how often it has looked at them by then, however slow the machine is: at the second look it can be seen that
	// a file is not being written any more, at the third it has been sent.
	flushLooks = 4
)

// Flush exports until all that can be exported is in the buckets, or until ctx ends, as trouble may pass. It does not
// wait long for files that are still being written. Files that are left are its error.
func (e *Exports) Flush(ctx context.Context) error {
	errs := make([]error, len(e.links))
	var all sync.WaitGroup
	for i, l := range e.links {
		if l.exports() {
			all.Go(func() { errs[i] = l.flush(ctx) })
		}
	}
	all.Wait()
	return errors.Join(errs...)
}

func (l *link) flush(ctx context.Context) error {
	tick := time.NewTicker(exportSoon / 4)
	defer tick.Stop()
	l.lookAgain()
	var trouble error // of the last round that ended by itself
	for moved, looks := time.Now(), 0; ; {
		result, err := l.last(ctx)
		waits := result.Pending - len(result.Blocked)
		if ctx.Err() == nil {
			trouble = err
		}
		switch {
		case err != nil || cmp.Or(len(result.Objects), len(result.Deleted), result.Beside) > 0: // what is on its way is waited for
			moved, looks = time.Now(), 0
		case waits > 0 && looks >= flushLooks && time.Since(moved) > flushPatience:
			return fmt.Errorf("export %s: %s being written", l.Path, count.Are(waits, "file"))
		}
		if err == nil && waits == 0 {
			return l.blocked()
		}
		looks++
		select {
		case <-ctx.Done():
			if trouble == nil {
				trouble = errors.New("files still wait")
			}
			return fmt.Errorf("export %s: %w: %w", l.Path, trouble, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// lookAgain makes the next round look at everything, not only at reported changes.
func (l *link) lookAgain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mirror.LookAgain()
}

// last is a round that also exports logs that still grow, as far as they are written.
func (l *link) last(ctx context.Context) (export.Result, error) {
	if err := l.open(ctx); err != nil {
		return export.Result{}, l.note(export.Result{}, err)
	}
	l.mu.Lock()
	pace := l.mirror.Pace
	l.mirror.Pace.LogEvery = 0
	result, err := l.mirror.Round(ctx, time.Now())
	l.mirror.Pace, l.lost = pace, errors.Is(err, store.ErrNotFound)
	l.mu.Unlock()
	return result, l.note(result, err)
}

// blocked is the error of files that cannot be exported, nil if there are none.
func (l *link) blocked() error {
	s := l.now()
	if s.Blocked == 0 {
		return nil
	}
	first := s.BlockedFiles[0]
	more := ""
	if s.Blocked > 1 {
		more = fmt.Sprintf(", nor can %d more", s.Blocked-1)
	}
	return fmt.Errorf("%s/%s cannot be exported: %s%s", l.Path, first.Path, first.Reason, more)
}
