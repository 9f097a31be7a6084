package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// Pull brings a dataset's files to a directory.
type Pull struct {
	Dataset  *Dataset
	Dir      string
	Wanted   func(path string, dir bool) bool // nil for all
	Progress *Progress                        // may be nil
}

// Tally counts the files of a pull.
type Tally struct {
	Files, Bytes         int64 // that are fetched
	KeptFiles, KeptBytes int64 // that are there, as far as size and time say
}

// Todo is what a pull has to do, as it looks before.
type Todo struct {
	Tally
	FreeBytes int64 // of the file system, below 0 if nobody knows
}

// Problem is what is wrong with one file.
type Problem struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// mostProblems are kept; how many there are besides is counted.
const mostProblems = 1000

// Problems are those of a run.
type Problems struct {
	List []Problem
	All  int64
}

func (p *Problems) add(path string, err error) {
	if p.All++; len(p.List) < mostProblems {
		p.List = append(p.List, Problem{path, whole.Cause(err).Error()})
	}
}

// Pulled is what a pull did.
type Pulled struct {
	Tally
	Problems Problems
	Settled  bool // all of it, the files that were there, too, will outlive a crash of the machine
}

// Look finds out what is to be fetched, and tells each file of it. It changes nothing.
func (p *Pull) Look(ctx context.Context, tell func(path string) error) (Todo, error) {
	todo := Todo{FreeBytes: free(p.Dir)}
	to, err := seeLocal(p.Dir)
	if err != nil {
		return todo, err
	}
	defer to.close()
	for r, err := range p.Dataset.wanted(ctx, p.Wanted) {
		if err != nil {
			return todo, err
		}
		switch here, err := to.has(r); {
		case err != nil: // Run says so
		case here:
			todo.KeptFiles++
			todo.KeptBytes += r.SizeBytes
		default:
			todo.Files++
			todo.Bytes += r.SizeBytes
			if err := tell(r.Path); err != nil {
				return todo, err
			}
		}
	}
	return todo, nil
}

// Run fetches what is not there. What is wrong with one file does not keep it from the others; what is wrong with the
// bucket, the disk or the dataset ends it, and the next run goes on.
func (p *Pull) Run(ctx context.Context) (Pulled, error) {
	to, err := openLocal(p.Dir)
	if err != nil {
		return Pulled{}, fmt.Errorf("pull to %s: %w", p.Dir, err)
	}
	defer to.close()
	run := &pulling{Pull: p, to: to, arrival: newArrival(p.Dataset.bucket, p.Dataset.Prefix, to, p.Progress)}
	if err = run.all(ctx); err == nil {
		err = to.settle() // also of files that were there: a pull that was cut off may have left them in memory
		run.done.Settled = err == nil
	}
	return run.done, err
}

// pulling is a pull under way.
type pulling struct {
	*Pull
	*arrival
	to     *local
	rights denials

	mu   sync.Mutex // guards done
	done Pulled
}

func (p *pulling) all(ctx context.Context) error {
	outer := ctx
	group, ctx := errgroup.WithContext(ctx)
	whole, large := p.lane(ctx, group, wholeAtOnce), p.lane(ctx, group, largeAtOnce)
	var failed error
	for r, err := range p.Dataset.wanted(ctx, p.Wanted) {
		if err != nil {
			failed = err
			break
		}
		here, err := p.to.has(r)
		if here || err != nil {
			if failed = p.count(ctx, r, here, err); failed != nil {
				break
			}
			continue
		}
		lane := whole
		if len(r.Parts) > 0 {
			lane = large
		}
		select {
		case lane <- r:
		case <-ctx.Done(): // the records end
		}
	}
	close(whole)
	close(large)
	if err := group.Wait(); err != nil || failed != nil {
		return cmp.Or(err, failed)
	}
	return p.Dataset.settled(outer)
}

// lane leads to those who fetch files. They stay for all of them: a stack that has grown to what a request takes needs not grow again.
func (p *pulling) lane(ctx context.Context, group *errgroup.Group, n int) chan<- manifest.Record {
	lane := make(chan manifest.Record)
	for range n {
		group.Go(func() error {
			for r := range lane {
				if err := p.count(ctx, r, false, p.bring(ctx, r)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return lane
}

// count notes how it went with a file, and returns what ends all.
func (p *pulling) count(ctx context.Context, r manifest.Record, kept bool, err error) error {
	if err != nil {
		if err = p.judge(ctx, r, err); !isFlaw(err) {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err != nil:
		p.done.Problems.add(r.Path, err)
	case kept:
		p.done.KeptFiles++
		p.done.KeptBytes += r.SizeBytes
	default:
		p.rights.given.Add(1)
		p.done.Files++
		p.done.Bytes += r.SizeBytes
		p.Pull.Progress.Done(1)
	}
	return nil
}

// flaw is what is wrong with one file alone.
type flaw struct{ error }

func (f flaw) Unwrap() error { return f.error }

func isFlaw(err error) bool {
	_, ok := errors.AsType[flaw](err)
	return ok
}

// judge tells a flaw of one file from what ends all.
func (p *pulling) judge(ctx context.Context, r manifest.Record, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, store.ErrChanged), errors.Is(err, store.ErrNotFound):
		return p.Dataset.replaced(ctx, err)
	case errors.Is(err, errDamaged), errors.Is(err, store.ErrRefused), p.rights.ofOne(err):
		return flaw{err}
	case errors.Is(err, store.ErrArchived):
		return flaw{store.ErrArchived}
	case whole.NoRoom(err) != nil:
		return fmt.Errorf("write %s: %w; make room and run the same again, it goes on from there", page.Printable(p.to.at(r.Path)), whole.Cause(err))
	case ofOneFile(err):
		return flaw{err}
	}
	return fmt.Errorf("pull %s: %w", page.Printable(r.Path), whole.Cause(err))
}

// ofOneFile says whether an error of the file system says something about one place alone.
func ofOneFile(err error) bool {
	for _, all := range []error{syscall.EROFS, syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ESTALE} {
		if errors.Is(err, all) {
			return false
		}
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*os.LinkError](err); ok {
		return true
	}
	_, isLocal := errors.AsType[localError](err)
	return isLocal
}

// free is how many bytes the file system has for its users where a directory is or will be, -1 if nobody knows.
func free(dir string) int64 {
	dir, err := filepath.Abs(dir)
	for err == nil {
		var s syscall.Statfs_t
		if err = syscall.Statfs(dir, &s); err == nil {
			return int64(s.Bavail) * int64(s.Bsize)
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return -1
		}
		dir, err = filepath.Dir(dir), nil
	}
	return -1
}
