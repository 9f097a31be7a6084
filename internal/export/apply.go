package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/muster-hpc/muster/internal/store"
	"golang.org/x/sync/errgroup"
)

const (
	putsAtOnce  = 4
	maxFailures = 3 // the place itself is in trouble: the round ends
)

// Result is what a round did.
type Result struct {
	Objects map[string]store.Object // that were put, by key
	Deleted []string                // keys
	Changed []string                // paths of files that changed while they were read; the next round takes them up
	Import  Imported
	Pending int // files and objects still to be dealt with; zero when the bucket is like the directory
}

// round is a plan on its way.
type round struct {
	root  *os.Root
	store store.Store

	mu       sync.Mutex // guards what follows
	result   Result
	failures []error
}

// Apply does what is planned, in the plan's order: files side by side, each pointer alone after what it needs, deletes
// last and only if all else succeeded. One file that cannot be exported does not hold up the others. It may be cut off
// anywhere.
func Apply(ctx context.Context, p Plan, root string, s store.Store) (Result, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return Result{Pending: p.Pending()}, fmt.Errorf("export %s: %w", root, err)
	}
	defer dir.Close()
	r := &round{root: dir, store: s, result: Result{Objects: map[string]store.Object{}}}
	r.puts(ctx, p.Puts)
	r.deletes(ctx, p)
	r.result.Pending = p.Pending() - len(r.result.Objects) - len(r.result.Deleted)
	return r.result, errors.Join(r.failures...)
}

func (r *round) puts(ctx context.Context, steps []Step) {
	for len(steps) > 0 {
		n := 0
		for n < len(steps) && steps[n].Needs == nil {
			n++
		}
		r.sideBySide(ctx, steps[:n])
		if steps = steps[n:]; len(steps) > 0 {
			if r.have(steps[0].Needs) {
				r.put(ctx, steps[0])
			}
			steps = steps[1:]
		}
	}
}

func (r *round) sideBySide(ctx context.Context, steps []Step) {
	var group errgroup.Group
	group.SetLimit(putsAtOnce)
	for _, s := range steps {
		group.Go(func() error {
			r.put(ctx, s)
			return nil
		})
	}
	group.Wait()
}

func (r *round) have(keys []string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range keys {
		if _, ok := r.result.Objects[k]; !ok {
			return false
		}
	}
	return true
}

// over says that the round is to end: it was told so, or too much fails.
func (r *round) over(ctx context.Context) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil && len(r.failures) == 0 {
		r.failures = append(r.failures, context.Cause(ctx))
	}
	return ctx.Err() != nil || len(r.failures) >= maxFailures
}

// errChanged says that a file is not what was planned any more.
var errChanged = errors.New("the file changed")

func (r *round) put(ctx context.Context, s Step) {
	if r.over(ctx) {
		return
	}
	o, err := r.export(ctx, s)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.result.Objects[s.Key] = o
	case errors.Is(err, errChanged):
		r.result.Changed = append(r.result.Changed, s.File.Path)
	default:
		r.failures = append(r.failures, fmt.Errorf("export %s: %w", s.File.Path, err))
	}
}

// export puts one file as it was planned, or nothing: the checksums are taken between two looks that find it unchanged,
// and the store refuses other bytes.
func (r *round) export(ctx context.Context, s Step) (store.Object, error) {
	u := store.Upload{Key: s.Key, SizeBytes: s.File.SizeBytes, Meta: metadata(s.File)}
	if s.File.Link != "" {
		if link, err := r.root.Readlink(s.File.Path); err != nil || link != s.File.Target {
			return store.Object{}, errChanged
		}
		u.Body = strings.NewReader(s.File.Link)
		return r.store.Put(ctx, u)
	}
	f, err := r.root.OpenFile(s.File.Path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) {
		return store.Object{}, errChanged
	}
	if err != nil {
		return store.Object{}, err
	}
	defer f.Close()
	if err := asPlanned(f, s.File); err != nil {
		return store.Object{}, err
	}
	sums, err := store.Sum(f, s.File.SizeBytes)
	if err := errors.Join(err, asPlanned(f, s.File)); err != nil {
		return store.Object{}, err
	}
	u.Body, u.Sums = f, sums
	o, err := r.store.Put(ctx, u)
	if errors.Is(err, store.ErrChecksum) {
		return o, errChanged
	}
	return o, err
}

// asPlanned compares an open file with the one in the plan. A log may have grown: what was planned is its beginning.
func asPlanned(f *os.File, want File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	now := described(want.Path, info)
	if unchanged(now, want) {
		return nil
	}
	if growing(want.Path) && !pointerName(want.Path) && now.Inode == want.Inode && now.SizeBytes > want.SizeBytes {
		return nil
	}
	return errChanged
}

func (r *round) deletes(ctx context.Context, p Plan) {
	for _, s := range p.Deletes {
		if r.over(ctx) || len(r.failures) > 0 || len(r.result.Objects) != len(p.Puts) {
			return
		}
		if _, err := r.root.Lstat(s.File.Path); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := r.store.Delete(ctx, s.Key); err != nil {
			r.failures = append(r.failures, err)
			return
		}
		r.result.Deleted = append(r.result.Deleted, s.Key)
	}
}
