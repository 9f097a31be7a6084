package lustre

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"time"

	"github.com/muster-hpc/muster/internal/data"
	"github.com/muster-hpc/muster/internal/sys/pause"
)

// Share is a part of the files that several programs have divided among them.
type Share struct{ This, Of int }

func (s Share) has(path string) bool {
	if s.Of < 2 {
		return true
	}
	sum := fnv.New32a()
	sum.Write([]byte(path))
	return int(sum.Sum32()%uint32(s.Of)) == s.This
}

// Warm brings the data of files from their bucket. It may be cut off anywhere and run again: what was asked for goes on
// without it, and is not asked for twice.
type Warm struct {
	Client   Client
	Progress *data.Progress
	Share    Share
	// AskOnly does not wait until the data have come.
	AskOnly bool

	Result Warmed
	out    []string         // asked for, and not there yet
	sizes  map[string]int64 // of these
	tries  map[string]int   // of these, again
}

// Warmed is what came of it.
type Warmed struct {
	Files       int64          `json:"files"` // that were looked at
	Here        int64          `json:"here"`  // whose data was there before
	Fetched     int64          `json:"fetched"`
	FetchedSize int64          `json:"fetched_bytes"`
	Failed      int64          `json:"failed"`
	Problems    []data.Problem `json:"problems"` // the first of them
}

const (
	mostOut     = 20_000 // files that are waited for at a time
	mostTries   = 3
	mostTold    = 20
	askedAgain  = 5 // looks after which it is asked whether anything still happens
	usualPause  = 2 * time.Second
	slowestLook = 15 * time.Second
)

// Run warms all ordinary files at paths and below them. Links are not followed.
func (w *Warm) Run(ctx context.Context, paths []string) error {
	w.Result.Problems, w.sizes, w.tries = []data.Problem{}, map[string]int64{}, map[string]int{}
	w.Progress.Begin("warm")
	err := found{
		share: w.Share,
		files: func(batch []string) error { return w.ask(ctx, batch) },
		other: func(string) {},
		wrong: w.failed,
	}.walk(ctx, paths...)
	if err != nil {
		return err
	}
	w.Progress.Counted()
	return w.wait(ctx, 0)
}

// ask asks for those of some files of which only the bucket has the data.
func (w *Warm) ask(ctx context.Context, paths []string) error {
	answers, err := w.Client.States(ctx, paths)
	if err != nil {
		return err
	}
	w.Result.Files += int64(len(answers))
	var wanted []string
	for _, p := range w.released(answers, func(string) { w.Result.Here++ }) {
		info, err := os.Lstat(p)
		if err != nil {
			continue // it went away meanwhile
		}
		w.sizes[p] = info.Size()
		w.Progress.Expect(1, info.Size())
		wanted = append(wanted, p)
	}
	if err := w.Client.Restore(ctx, wanted); err != nil {
		return err
	}
	w.out = append(w.out, wanted...)
	return w.wait(ctx, mostOut)
}

// released are the files of which only the bucket has the data.
func (w *Warm) released(answers []Answer, here func(path string)) []string {
	var released []string
	for _, a := range answers {
		switch {
		case a.Err != nil && gone(a.Path):
			w.forget(a.Path)
		case a.Err != nil:
			w.failed(a.Path, a.Err)
		case a.State.Lost():
			w.failed(a.Path, errors.New("its bucket does not have it any more"))
		case a.State.Released():
			released = append(released, a.Path)
		default:
			here(a.Path)
		}
	}
	return released
}

// wait waits until not more than so many files are on their way.
func (w *Warm) wait(ctx context.Context, most int) error {
	if w.AskOnly {
		w.out, w.sizes = nil, map[string]int64{}
		return nil
	}
	between := usualPause
	for look := 1; len(w.out) > most; look++ {
		before := len(w.out)
		if err := w.look(ctx, look%askedAgain == 0); err != nil {
			return err
		}
		if len(w.out) <= most {
			return nil
		}
		if err := pause.For(ctx, between); err != nil {
			return err
		}
		if len(w.out) == before {
			between = min(between*3/2, slowestLook)
		}
	}
	return nil
}

// look finds out what has come. Now and then what does not come is asked for again.
func (w *Warm) look(ctx context.Context, again bool) error {
	answers, err := w.Client.States(ctx, w.out)
	if err != nil {
		return err
	}
	w.out = w.released(answers, func(p string) {
		w.Result.Fetched++
		w.Result.FetchedSize += w.sizes[p]
		w.Progress.Done(1)
		w.Progress.Move(w.sizes[p])
		w.forget(p)
	})
	if again {
		return w.again(ctx)
	}
	return nil
}

// again asks once more for files for which nothing is being done, a few times each.
func (w *Warm) again(ctx context.Context) error {
	idle, err := w.Client.idle(ctx, w.out)
	if err != nil {
		return err
	}
	var wanted, left []string
	for _, p := range w.out {
		if !idle[p] {
			left = append(left, p)
			continue
		}
		if w.tries[p]++; w.tries[p] > mostTries {
			w.failed(p, fmt.Errorf("it was asked for %d times, and does not come", mostTries+1))
			continue
		}
		wanted, left = append(wanted, p), append(left, p)
	}
	w.out = left
	return w.Client.Restore(ctx, wanted)
}

func (w *Warm) failed(path string, err error) {
	if w.Result.Failed++; len(w.Result.Problems) < mostTold {
		w.Result.Problems = append(w.Result.Problems, data.Problem{Path: path, Why: err.Error()})
	}
	w.forget(path)
}

func (w *Warm) forget(path string) {
	delete(w.sizes, path)
	delete(w.tries, path)
}

// idle are the files for which nothing is being done.
func (c Client) idle(ctx context.Context, paths []string) (map[string]bool, error) {
	idle := map[string]bool{}
	for len(paths) > 0 {
		batch := batch(paths)
		out, _, _ := c.Run(ctx, append([]string{"hsm_action"}, batch...)...) // the next look says what is wrong with a file
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		actions, wrong := ParseActions(out, batch)
		if wrong != nil {
			return nil, wrong
		}
		for p, name := range actions {
			idle[p] = name == "NOOP"
		}
		paths = paths[len(batch):]
	}
	return idle, nil
}
