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
	return e, found{
		files: func(batch []string) error { return e.take(ctx, c, batch) },
		other: func(string) {},
		wrong: func(at string, err error) { e.Failed = append(e.Failed, Answer{Path: at, Err: err}) },
	}.walk(ctx, dir)
}

// found takes what is at paths and below them.
type found struct {
	share Share                      // of the ordinary files
	files func(batch []string) error // ordinary files, as many as lfs is asked about at a time
	other func(at string)            // what is neither that nor a directory: links are not followed
	wrong func(at string, err error) // what cannot be looked at
}

func (f found) walk(ctx context.Context, paths ...string) error {
	var batch []string
	for _, p := range paths {
		err := filepath.WalkDir(p, func(at string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				f.wrong(at, err)
				return nil
			case d.IsDir():
				return context.Cause(ctx)
			case !d.Type().IsRegular():
				f.other(at)
				return context.Cause(ctx)
			case !f.share.has(at):
				return context.Cause(ctx)
			}
			if batch = append(batch, at); len(batch) < batchFiles {
				return nil
			}
			err = f.files(batch)
			batch = batch[:0]
			return err
		})
		if err != nil {
			return err
		}
	}
	return f.files(batch)
}

// take adds the states of some files.
func (e *Exported) take(ctx context.Context, c Client, paths []string) error {
	answers, err := c.States(ctx, paths)
	for _, a := range answers {
		if a.Err != nil && gone(a.Path) {
			continue
		}
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
