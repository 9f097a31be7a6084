package lustre

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/muster-hpc/muster/internal/data"
)

// Proof is what came of holding exported files against their bucket.
type Proof struct {
	Files       int64 `json:"files"` // that are the same in both
	Bytes       int64 `json:"bytes"`
	Unproven    int64 `json:"unproven"`     // of these: those whose objects have no checksum, so that the size alone is known
	Released    int64 `json:"released"`     // of these: those whose data the bucket alone has, so that the size alone is known
	Changed     int64 `json:"changed"`      // that Lustre calls changed by now, or that came since: they are no part of what was to be proven
	NotOrdinary int64 `json:"not_ordinary"` // links and what else has no bytes of its own: they are not compared
	Missing     int64 `json:"missing"`
	Different   int64 `json:"different"`
	// Problems are the first of what is missing or different.
	Problems []data.Problem `json:"problems,omitempty"`
}

// Bad are the files of which the bucket does not have what it should.
func (p Proof) Bad() int64 { return p.Missing + p.Different }

// Whole says that each file is there, byte for byte.
func (p Proof) Whole() bool { return p.Bad()+p.Unproven+p.Released+p.NotOrdinary == 0 }

const (
	readsAtOnce = 16
	mostLooks   = 3 // at a file that differs from its object, and that Lustre calls exported
)

// Prove compares all ordinary files at a path and below it with their objects, where Lustre says that the bucket has them
// as they are. The path is that of the comparison's directory, or is below it. What is only in the bucket does not count,
// and no released file is read: that would bring it from there.
func (c Client) Prove(ctx context.Context, at string, with *data.Compare) (Proof, error) {
	p := &proving{client: c, with: with}
	err := found{
		files: func(batch []string) error { return p.batch(ctx, batch) },
		other: func(string) { p.proof.NotOrdinary++ },
		wrong: func(at string, err error) {
			if !errors.Is(err, fs.ErrNotExist) {
				p.proof.Different++
				p.problem(at, err.Error())
			}
		},
	}.walk(ctx, at)
	slices.SortFunc(p.proof.Problems, func(a, b data.Problem) int { return strings.Compare(a.Path, b.Path) })
	return p.proof, err
}

// proving is a comparison under way.
type proving struct {
	client Client
	with   *data.Compare

	mu    sync.Mutex // guards proof
	proof Proof
}

func (p *proving) batch(ctx context.Context, paths []string) error {
	answers, err := p.client.States(ctx, paths)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for _, a := range answers {
		group.Go(func() error { return p.file(ctx, a) })
	}
	return group.Wait()
}

// file compares one file. It may be written and exported again meanwhile, so that it is looked at again where it differs.
func (p *proving) file(ctx context.Context, a Answer) error {
	for look := 1; ; look++ {
		switch {
		case a.Err != nil && gone(a.Path):
			return nil
		case a.Err != nil || a.State.Refused() || a.State.Lost():
			p.refused(a)
			return nil
		case !a.State.Exported():
			p.changed()
			return nil
		}
		path, err := filepath.Rel(p.with.Dir, a.Path)
		if err != nil {
			return err
		}
		got, err := p.with.One(ctx, filepath.ToSlash(path), a.State.Released())
		if err != nil {
			return err
		}
		if got.Same() || look == mostLooks {
			p.take(a, got)
			return nil
		}
		answers, err := p.client.States(ctx, []string{a.Path})
		if err != nil {
			return err
		}
		a = answers[0]
	}
}

func gone(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func (p *proving) changed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.proof.Changed++
}

func (p *proving) refused(a Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.proof.Different++
	why := a.State.String()
	if a.Err != nil {
		why = a.Err.Error()
	}
	p.problem(a.Path, why)
}

// take counts what was found of a file.
func (p *proving) take(a Answer, got data.Compared) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.proof.Files += got.Files
	p.proof.Bytes += got.Bytes
	if a.State.Released() {
		p.proof.Released += got.Unproven
	} else {
		p.proof.Unproven += got.Unproven
	}
	p.proof.Missing += got.Missing.All
	p.proof.Different += got.Different.All
	for range got.Missing.List {
		p.problem(a.Path, "it is not in the bucket")
	}
	for _, d := range got.Different.List {
		p.problem(a.Path, d.Why)
	}
}

// problem keeps the first of many.
func (p *proving) problem(at, why string) {
	if len(p.proof.Problems) < mostTold {
		p.proof.Problems = append(p.proof.Problems, data.Problem{Path: at, Why: why})
	}
}
