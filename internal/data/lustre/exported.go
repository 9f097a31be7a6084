package lustre

import (
	"context"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/muster-hpc/muster/internal/sys/pause"
)

// Exported is how far the export of a directory is, by Lustre's word: what the bucket really has is not looked at.
type Exported struct {
	Files   int64    // ordinary files
	Waiting []string // those that the bucket does not have as they are
	Failed  []Answer // those of which lfs says nothing, and those that are never exported
}

// Exported looks at all ordinary files at a path and below it. Links are not followed.
func (c Client) Exported(ctx context.Context, dir string) (Exported, error) {
	var e Exported
	var batch []string
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			e.Failed = append(e.Failed, Answer{Path: at, Err: err})
			return nil
		}
		if !d.Type().IsRegular() {
			return context.Cause(ctx)
		}
		if batch = append(batch, at); len(batch) < batchFiles {
			return nil
		}
		err = e.take(ctx, c, batch)
		batch = batch[:0]
		return err
	})
	if err != nil {
		return e, err
	}
	return e, e.take(ctx, c, batch)
}

// take adds the states of some files.
func (e *Exported) take(ctx context.Context, c Client, paths []string) error {
	answers, err := c.States(ctx, paths)
	for _, a := range answers {
		switch e.Files++; {
		case a.Err != nil || a.State.Refused() || a.State.Lost():
			e.Failed = append(e.Failed, a)
		case !a.State.Exported():
			e.Waiting = append(e.Waiting, a.Path)
		}
	}
	return err
}

// AwaitExported waits until none of the waiting files does any more. Files that come meanwhile keep nobody waiting.
func (c Client) AwaitExported(ctx context.Context, e Exported, every time.Duration) (Exported, error) {
	for len(e.Waiting) > 0 {
		if err := pause.For(ctx, every); err != nil {
			return e, err
		}
		now := Exported{Failed: e.Failed}
		if err := now.take(ctx, c, e.Waiting); err != nil {
			return e, err
		}
		e.Waiting, e.Failed = now.Waiting, now.Failed
	}
	return e, nil
}
