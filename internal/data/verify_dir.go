package data

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"os"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/data/manifest"
	"github.com/muster-hpc/muster/internal/data/walk"
	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// Compare compares a directory with what a bucket has of it, both ways: files, their sizes and their bytes.
type Compare struct {
	Dir      string // or the one file that was pushed
	Bucket   store.Store
	Prefix   string
	Dataset  *Dataset                         // nil for objects without a manifest, as exports write them
	Full     bool                             // reads the objects, too; else their checksums at their place count
	Wanted   func(path string, dir bool) bool // nil for all
	Progress *Progress                        // may be nil
}

// Compared is what was found.
type Compared struct {
	Files, Bytes int64 // that are the same
	Unproven     int64 // of these: files whose objects have no checksum at their place, so that only the size is known
	Passing      int64 // temporary files, which are not exported
	Missing      Names // files without an object
	Extra        Names // objects without a file
	Besides      Names // objects that are none of the dataset, where there is one
	Different    Problems
}

// Same says that each has what the other has.
func (c Compared) Same() bool {
	return c.Missing.All == 0 && c.Extra.All == 0 && c.Different.All == 0
}

// Run compares.
func (c *Compare) Run(ctx context.Context) (Compared, error) {
	info, err := os.Stat(c.Dir)
	run := &comparing{Compare: c, single: err == nil && !info.IsDir()}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	failed := run.merge(groupCtx, func(f walk.File, r manifest.Record) {
		group.Go(func() error { return run.pair(groupCtx, f, r) })
	})
	if err := cmp.Or(group.Wait(), failed); err != nil || c.Dataset == nil {
		return run.found, err
	}
	besides := &verifying{Verify: &Verify{Dataset: c.Dataset, Wanted: c.Wanted}}
	err = besides.extras(ctx)
	run.found.Besides = besides.found.Extra
	return run.found, err
}

// comparing is a comparison under way.
type comparing struct {
	*Compare
	single bool // Dir is a file
	rights denials

	mu    sync.Mutex // guards found
	found Compared
}

// merge goes through files and objects in their common order, and hands on those that are both.
func (c *comparing) merge(ctx context.Context, both func(walk.File, manifest.Record)) error {
	next, stop := iter.Pull2(c.objects(ctx))
	defer stop()
	r, err, more := next()
	w := walk.Walk{Root: c.Dir, Wanted: func(path string, dir bool) bool { return c.enters(ctx, path, dir) }}
	for f, wrong := range w.Files() {
		if wrong != nil && f.Path == "" {
			return fmt.Errorf("compare %s: %w", c.Dir, whole.Cause(wrong))
		}
		for ; more && err == nil && r.Path < f.Path; r, err, more = next() {
			if err := c.alone(ctx, r, nil); err != nil {
				return err
			}
		}
		switch {
		case err != nil:
			return err
		case wrong != nil && more && r.Path == f.Path:
			if err := c.alone(ctx, r, wrong); err != nil {
				return err
			}
			r, err, more = next()
		case wrong != nil:
			c.differ(f.Path, wrong)
		case more && r.Path == f.Path:
			both(f, r)
			r, err, more = next()
		case c.Dataset == nil && checkpoint.Temporary(f.Path):
			c.found.Passing++
		default:
			c.lone(f.Path, &c.found.Missing)
		}
	}
	for ; more && err == nil; r, err, more = next() {
		if err := c.alone(ctx, r, nil); err != nil {
			return err
		}
	}
	return err
}

// objects are the wanted ones of the bucket.
func (c *comparing) objects(ctx context.Context) iter.Seq2[manifest.Record, error] {
	all := Objects(ctx, c.Bucket, c.Prefix)
	if c.Dataset != nil {
		all = c.Dataset.Records(ctx)
	}
	return func(yield func(manifest.Record, error) bool) {
		for r, err := range all {
			if err == nil && (c.Wanted != nil && !c.Wanted(r.Path, false) || strings.HasSuffix(r.Path, "/") && r.SizeBytes == 0) {
				continue // what consoles put for a directory is no file
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func (c *comparing) lone(path string, where *Names) {
	c.mu.Lock()
	defer c.mu.Unlock()
	where.add(path)
}

func (c *comparing) differ(path string, why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.found.Different.add(path, why)
}

// pair compares a file with its object.
func (c *comparing) pair(ctx context.Context, f walk.File, r manifest.Record) error {
	proven, err := c.same(ctx, f, r)
	return c.judged(ctx, f, proven, err)
}

// judged notes how a comparison went, and returns what ends all.
func (c *comparing) judged(ctx context.Context, f walk.File, proven bool, err error) error {
	if c.Dataset != nil && (errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrNotFound)) {
		err = c.Dataset.replaced(ctx, err)
	}
	c.Progress.Done(1)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, store.ErrArchived):
		c.differ(f.Path, store.ErrArchived)
		return nil
	case isFlaw(err) || err != nil && ofOneFile(err):
		c.differ(f.Path, err)
		return nil
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrChanged), errors.Is(err, store.ErrChecksum), errors.Is(err, errDamaged),
		errors.Is(err, store.ErrRefused), c.rights.ofOne(err):
		c.differ(f.Path, err)
		return nil
	case err != nil:
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rights.given.Add(1)
	c.found.Files++
	c.found.Bytes += f.SizeBytes
	if !proven {
		c.found.Unproven++
	}
	return nil
}

// same says whether a file has the bytes of its object, and whether that is proven: sizes and times prove nothing.
func (c *comparing) same(ctx context.Context, f walk.File, r manifest.Record) (proven bool, err error) {
	if c.isLink(r.Path) {
		if is, err := c.sameLink(ctx, r); is || err != nil {
			return true, err
		}
	}
	if err := sameSize(f, r.SizeBytes); err != nil {
		return false, err
	}
	o, err := c.Bucket.Head(ctx, manifest.Key(c.Prefix, r.Path))
	if err != nil {
		return false, err
	}
	if c.Dataset != nil {
		if err := differs(r, o); err != nil {
			return false, err
		}
	}
	if c.Full { // what the place says of the object does not count then
		return true, c.sameBytes(ctx, f, r, o.Version)
	}
	return c.sameSums(ctx, f, r, o)
}

func sameSize(f walk.File, objectBytes int64) error {
	if f.SizeBytes != objectBytes {
		return flaw{fmt.Errorf("the file has %d bytes, the object %d", f.SizeBytes, objectBytes)}
	}
	return nil
}

// sameSums compares a file's checksums with those of its record and of its object.
func (c *comparing) sameSums(ctx context.Context, f walk.File, r manifest.Record, o store.Object) (proven bool, err error) {
	var others []hash.Hash
	if h := o.Other.Hash(); h != nil {
		others = append(others, h)
	}
	sums, err := c.sum(ctx, f, others...)
	if err != nil {
		return false, err
	}
	for _, pair := range [][2]string{{sums.SHA256, r.SHA256}, {sums.SHA256, o.SHA256}, {sums.CRC64NVME, o.CRC64NVME}} {
		if pair[1] == "" {
			continue
		}
		if proven = true; pair[0] != pair[1] {
			return true, errOtherBytes
		}
	}
	if len(others) > 0 {
		if proven = true; !o.Other.Is(others[0]) {
			return true, errOtherBytes
		}
	}
	return proven, nil
}

var errOtherBytes = flaw{errors.New("the file has other bytes than the object")}

// sameBytes reads both.
func (c *comparing) sameBytes(ctx context.Context, f walk.File, r manifest.Record, version string) error {
	sums, err := c.sum(ctx, f)
	if err != nil {
		return err
	}
	if r.SHA256 != "" && r.SHA256 != sums.SHA256 {
		return errOtherBytes
	}
	r.SHA256, r.Version = sums.SHA256, version
	err = newArrival(c.Bucket, c.Prefix, nil, nil).prove(ctx, r)
	if errors.Is(err, errDamaged) {
		return flaw{errors.New("the object's bytes were read, and are not those of the file")}
	}
	return err
}

// sum reads a file, which has to hold still meanwhile.
func (c *comparing) sum(ctx context.Context, f walk.File, others ...hash.Hash) (store.Sums, error) {
	in, err := os.OpenFile(c.at(f.Path), os.O_RDONLY|syscall.O_NONBLOCK, 0) // no waiting where a pipe took its place
	if err != nil {
		return store.Sums{}, err
	}
	defer in.Close()
	sums, err := store.Sum(told{ctx, in, c.Progress}, f.SizeBytes, others...)
	if err != nil && err != io.ErrUnexpectedEOF {
		return sums, err
	}
	info, statErr := in.Stat()
	if statErr != nil {
		return sums, statErr
	}
	if now := walk.Described(f.Path, info); err != nil || now.Self != f.Self || now.SizeBytes != f.SizeBytes {
		return sums, flaw{errors.New("the file changed while it was read")}
	}
	return sums, nil
}

// told is a file whose reading is told of, and ends with a context.
type told struct {
	ctx      context.Context
	file     *os.File
	progress *Progress
}

func (t told) ReadAt(b []byte, at int64) (int, error) {
	if err := context.Cause(t.ctx); err != nil {
		return 0, err
	}
	n, err := t.file.ReadAt(b, at)
	t.progress.Move(int64(n))
	return n, err
}
