package layer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Cache keeps the segments of layers in a directory, one file each, named by
// the layer's digest. It may be used by many goroutines and processes.
type Cache struct {
	dir     string
	turns   chan struct{} // one for each layer that may be read at once
	wide    chan struct{} // one for a layer whose decompression takes much memory
	workers *workers
}

// Open opens the cache in dir, makes the directory if there is none, and
// removes what builds left that were killed.
func Open(dir string) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make layer cache: %w", err)
	}
	turns := min(max(4, 2*runtime.GOMAXPROCS(0)), 16)
	c := &Cache{dir: dir, turns: make(chan struct{}, turns), wide: make(chan struct{}, 1), workers: newWorkers(runtime.GOMAXPROCS(0), turns)}
	return c, c.sweep()
}

const (
	segmentSuffix = ".segment"
	partSuffix    = ".part"
)

// path is where the segment of a digest is; ok is false if it is no digest.
func (c *Cache) path(digest string) (path string, ok bool) {
	if _, err := digestBytes(digest); err != nil {
		return "", false
	}
	return filepath.Join(c.dir, strings.Replace(digest, ":", "-", 1)+segmentSuffix), true
}

// Has says whether the layer is in the cache. It fails if it is not what the descriptor
// says: one layer has one size and one diff_id in all images.
func (c *Cache) Has(d Descriptor) (bool, error) {
	path, ok := c.path(d.Digest)
	if !ok {
		return false, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return false, nil // Build says what is wrong with it
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	foot, err := readFooter(f, info.Size())
	if err != nil {
		return false, nil // it is made again
	}
	if err := foot.agrees(d); err != nil {
		return false, &Error{Digest: d.Digest, Err: err}
	}
	return true, nil
}

// Segment is a layer in the cache.
type Segment struct {
	Digest    string
	SizeBytes int64
	// Used is when it was last built, found or assembled.
	Used time.Time
}

// List tells what is in the cache, what was not used for the longest time
// first.
func (c *Cache) List() ([]Segment, error) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, fmt.Errorf("list layer cache: %w", err)
	}
	var list []Segment
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), segmentSuffix)
		digest := strings.Replace(name, "-", ":", 1)
		info, err := e.Info()
		if _, bad := digestBytes(digest); !ok || bad != nil || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list layer cache: %w", err)
		}
		list = append(list, Segment{Digest: digest, SizeBytes: info.Size(), Used: info.ModTime()})
	}
	slices.SortStableFunc(list, func(a, b Segment) int {
		return cmp.Or(a.Used.Compare(b.Used), strings.Compare(a.Digest, b.Digest))
	})
	return list, nil
}

// Remove forgets a layer; it is no error if there is none. An Assemble that
// runs with it goes on.
func (c *Cache) Remove(digest string) error {
	path, ok := c.path(digest)
	if !ok {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove from layer cache: %w", err)
	}
	return nil
}

// touch remembers that a segment was used. If the file is gone or not ours,
// that is forgotten too.
func touch(path string) {
	now := time.Now()
	_ = os.Chtimes(path, now, now)
}

// AtOnce is how many layers are read at once.
func (c *Cache) AtOnce() int { return cap(c.turns) }

// turn waits until one more layer may be read, and returns what ends that.
func (c *Cache) turn(ctx context.Context) (func(), error) {
	select {
	case c.turns <- struct{}{}:
		return func() { <-c.turns }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
