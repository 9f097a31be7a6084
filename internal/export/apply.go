package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/muster-hpc/muster/internal/data/walk"
	"github.com/muster-hpc/muster/internal/store"
)

const (
	putsAtOnce  = 4
	maxTroubles = 3 // so often the place itself was in trouble: the round ends
)

// Result is what a round did.
type Result struct {
	Objects map[string]store.Object // that were put, by key
	Same    int                     // of them were the files already
	Deleted []string                // keys
	Changed []string                // paths of files that changed while they were read; the next round takes them up
	Import  Imported
	Failed  map[string]Attempt // files that cannot be exported, though the place is well; by path
	Beside  int                // large files that go on being sent when the round is over, or are in line for it
	Pending int                // files and objects still to be dealt with; zero when the bucket is like the directory
	Blocked []Wait             // those of them that cannot be exported, and why
}

// Work is where a plan is carried out.
type Work struct {
	Root string
	// Trusted is Rule.Trusted.
	Trusted string
	Prefix  string // of the keys
	Store   store.Store
	Time    time.Time
	Failed  map[string]Attempt // in earlier rounds, by path
	Track   *Track             // is told how far it is
	Beside  *flights           // what goes on beside the rounds; nil if all is waited for
	Slow    store.Store        // the store for these
}

// round is a plan on its way.
type round struct {
	Work
	root *os.Root

	mu       sync.Mutex // guards what follows
	result   Result
	troubles []error // of the place
}

// Apply does what is planned, in the plan's order: files side by side, each pointer alone after what it needs, deletes
// last. Files that cannot be exported do not hold up others, however many they are: only trouble with the place itself
// ends the round early, and is an error. It may be cut off anywhere.
func Apply(ctx context.Context, p Plan, w Work) (Result, error) {
	dir, err := openRoot(w.Root, w.Trusted)
	if err != nil {
		return Result{Pending: p.Pending()}, fmt.Errorf("export %s: %w", w.Root, err)
	}
	defer dir.Close()
	r := &round{Work: w, root: dir, result: Result{Objects: map[string]store.Object{}, Failed: map[string]Attempt{}, Blocked: p.Blocked}}
	r.puts(ctx, p.Puts)
	r.deletes(ctx, p)
	r.result.Pending = p.Pending() - len(r.result.Objects) - len(r.result.Deleted)
	return r.result, errors.Join(r.troubles...)
}

func (r *round) puts(ctx context.Context, steps []Step) {
	for len(steps) > 0 {
		n := 0
		for n < len(steps) && steps[n].Needs == nil {
			n++
		}
		r.sideBySide(ctx, steps[:n])
		if steps = steps[n:]; len(steps) > 0 {
			r.pointer(ctx, steps[0])
			steps = steps[1:]
		}
	}
}

func (r *round) sideBySide(ctx context.Context, steps []Step) {
	var group errgroup.Group
	group.SetLimit(putsAtOnce)
	for _, s := range steps {
		if r.flies(ctx, s) {
			continue
		}
		group.Go(func() error {
			r.put(ctx, s)
			return nil
		})
	}
	group.Wait()
}

// pointer puts a pointer if all that it needs is there.
func (r *round) pointer(ctx context.Context, s Step) {
	for _, k := range s.Needs {
		if _, ok := r.result.Objects[k]; ok {
			continue
		}
		if p := pathOf(r.Prefix, k); r.cannot(p) {
			r.block(s, fmt.Sprintf("it waits for %s, which cannot be exported", p))
		}
		return
	}
	r.put(ctx, s)
}

// cannot says that a file was found in this round that cannot be exported.
func (r *round) cannot(p string) bool {
	_, ok := r.result.Failed[p]
	return ok || slices.ContainsFunc(r.result.Blocked, func(w Wait) bool { return w.Path == p })
}

// over says that the round is to end: it was told so, or too much fails.
func (r *round) over(ctx context.Context) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil && len(r.troubles) == 0 {
		r.troubles = append(r.troubles, context.Cause(ctx))
	}
	return ctx.Err() != nil || len(r.troubles) >= maxTroubles
}

// errChanged says that a file is not what was planned any more.
var errChanged = errors.New("the file changed")

func (r *round) put(ctx context.Context, s Step) {
	if r.over(ctx) {
		return
	}
	sending := r.Track.begin(s.File)
	o, err := r.export(ctx, s, sending)
	r.Track.end(sending, s.Key, err == nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.result.Objects[s.Key] = o
		if s.Same != (version{}) && versionOf(o.Version) == s.Same {
			r.result.Same++
			return
		}
		r.Track.exported()
	case errors.Is(err, errChanged):
		r.result.Changed = append(r.result.Changed, s.File.Path)
	case ofTheFile(err) && ctx.Err() == nil:
		r.failed(s, err)
	default:
		r.troubles = append(r.troubles, fmt.Errorf("export %s: %w", s.File.Path, err))
	}
}

// failed notes a file that cannot be exported, and the pointers to it.
func (r *round) failed(s Step, err error) {
	r.result.Failed[s.File.Path] = r.Failed[s.File.Path].next(s.File, err.Error(), r.Time)
	r.block(s, err.Error())
}

func (r *round) block(s Step, reason string) {
	r.result.Blocked = append(r.result.Blocked, Wait{s.File.Path, s.File.SizeBytes, reason})
	r.Track.block(r.result.Blocked)
}

// export puts one file as it was planned, or nothing: it is read between two looks that find it unchanged. A file that may
// grow meanwhile, or that may be its object already, is read for its checksums first, and the store refuses other bytes.
func (r *round) export(ctx context.Context, s Step, sending *Sending) (store.Object, error) {
	u := store.Upload{Key: s.Key, SizeBytes: s.File.SizeBytes, Meta: s.metadata(), Sent: func(n int64) { r.Track.sent(sending, n) },
		Kept: func(n int64) { r.Track.kept(sending, n) }}
	if s.File.Link != "" {
		if link, err := r.root.Readlink(s.File.Path); err != nil || link != s.File.Target {
			return store.Object{}, errChanged
		}
		u.Body = strings.NewReader(s.File.Link)
		return r.Store.Put(ctx, u)
	}
	f, err := r.root.OpenFile(s.File.Path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) {
		return store.Object{}, errChanged
	}
	if err != nil {
		return store.Object{}, local{err}
	}
	defer f.Close()
	in := reading{f, s.File, r.Track}
	u.Body, u.Same = in, in.same
	if err := in.same(); err != nil {
		return store.Object{}, err
	}
	if s.Same != (version{}) || grows(s.File) {
		if u.Sums, err = in.sums(); err != nil {
			return store.Object{}, err
		}
		if o, err := r.same(ctx, s, u.Sums); err != nil || o.Key != "" {
			o.Meta = u.Meta // what the bucket has of it is older, and says the same of its content
			return o, err
		}
	}
	o, err := r.Store.Put(ctx, u)
	if errors.Is(err, store.ErrChecksum) {
		return o, errChanged
	}
	return o, err
}

// same is the object that has the content of a file already, the zero one if there is none.
func (r *round) same(ctx context.Context, s Step, sums store.Sums) (store.Object, error) {
	if s.Same == (version{}) {
		return store.Object{}, nil
	}
	o, err := r.Store.Head(ctx, s.Key)
	if errors.Is(err, store.ErrNotFound) || err == nil && !contentOf(o, sums) {
		return store.Object{}, nil
	}
	return o, err
}

// contentOf says that an object has the content of these sums: by its SHA-256, or where it has none, because it went in parts,
// by the checksum that the place keeps.
func contentOf(o store.Object, sums store.Sums) bool {
	if o.SHA256 != "" {
		return o.SHA256 == sums.SHA256
	}
	return o.CRC64NVME == sums.CRC64NVME
}

func (r *round) deletes(ctx context.Context, p Plan) {
	if r.result.Beside > 0 {
		return // what they have may be all that is there, as of a file with a new name
	}
	for _, s := range p.Deletes {
		if r.over(ctx) || len(r.troubles) > 0 {
			return
		}
		if r.named(s, p.Puts) {
			continue
		}
		if !s.Expired && r.back(s.File.Path) {
			continue
		}
		if err := r.Store.Delete(ctx, s.Key); err != nil {
			r.troubles = append(r.troubles, err)
			return
		}
		r.Track.gone()
		r.result.Deleted = append(r.result.Deleted, s.Key)
	}
}

// back reports whether there seems to be a file again. What else may have its name, such as a directory or
// a pipe, has no object.
func (r *round) back(p string) bool {
	info, err := r.root.Lstat(p)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return err != nil || !info.IsDir() && walk.Odd(info.Mode()) == ""
}

// named says that the bucket may still have a pointer to an object: the newer one was to be put, and was not.
func (r *round) named(s Step, puts []Step) bool {
	for _, put := range puts {
		if _, ok := r.result.Objects[put.Key]; !ok && pointerName(put.File.Path) && below(s.File.Path, path.Dir(put.File.Path)) {
			return true
		}
	}
	return false
}
