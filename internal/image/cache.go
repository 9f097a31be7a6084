package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/image/layer"
	"github.com/muster-hpc/muster/internal/sys/own"
)

// defaultLimit is the most that a layer cache takes by default, on
// a file system where that is at most a quarter.
const defaultLimit = 64 << 30

// cacheName is the name of a user's layer cache for a directory's images. Each user has
// one of his own, since a layer in the cache is trusted.
func cacheName(dir string) string {
	uid := os.Geteuid()
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil || int(st.Uid) == uid {
		return ".layers"
	}
	return fmt.Sprintf(".layers-%d", uid)
}

// makeCache is the layer cache that was asked for, or the user's own in a directory of
// images. It is made if it is not there.
func makeCache(asked, dir string) (string, error) {
	if asked == "" {
		return own.Make(dir, cacheName(dir), os.Geteuid())
	}
	if err := os.MkdirAll(asked, 0o700); err != nil {
		return "", fmt.Errorf("make the layer cache: %w", err)
	}
	return asked, nil
}

// findCache is makeCache where there is one, and "" elsewhere.
func findCache(asked, dir string) string {
	if asked == "" {
		return own.Find(dir, cacheName(dir), os.Geteuid())
	}
	if _, err := os.Lstat(asked); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return asked
}

// cache is a layer cache that is in use: until it is closed, no process makes room in it.
type cache struct {
	*layer.Cache
	dir  string
	lock *os.File
}

// openCache opens a layer cache. A directory that others may write to, or have put
// there, is none: they could put anything into our images, and lead us anywhere.
func openCache(dir string) (*cache, error) {
	if err := own.Check(dir, os.Geteuid()); err != nil {
		return nil, fmt.Errorf("the layer cache must be yours alone: %w", err)
	}
	c, err := layer.Open(dir)
	if err != nil {
		return nil, err
	}
	f, err := own.Open(filepath.Join(dir, ".in-use"))
	if err != nil {
		return nil, fmt.Errorf("lock the layer cache: %w", err)
	}
	if err := flock(f, unix.LOCK_SH); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock the layer cache %s: %w", dir, err)
	}
	return &cache{Cache: c, dir: dir, lock: f}, nil
}

// flock takes a lock that is held for moments only, or shared.
func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func (c *cache) close() { c.lock.Close() }

// trim makes room: it removes what was not used for the longest time until the
// cache is within a limit. If others use the cache it leaves that to them; the
// last of them does it.
func (c *cache) trim(limit int64) (removed int, freed int64, err error) {
	if err := flock(c.lock, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		// The try may have cost us the shared lock.
		return 0, 0, flock(c.lock, unix.LOCK_SH)
	}
	segments, err := c.List()
	if err != nil {
		return 0, 0, err
	}
	for _, s := range tooMuch(segments, limit) {
		if err := c.Remove(s.Digest); err != nil {
			return removed, freed, err
		}
		removed++
		freed += s.SizeBytes
	}
	return removed, freed, flock(c.lock, unix.LOCK_SH)
}

// tooMuch are the segments to remove, of those that are in the order of their
// last use, to keep a limit.
func tooMuch(segments []layer.Segment, limit int64) []layer.Segment {
	var sum int64
	for _, s := range segments {
		sum += s.SizeBytes
	}
	for i, s := range segments {
		if sum <= limit {
			return segments[:i]
		}
		sum -= s.SizeBytes
	}
	return segments
}

// limitOf is the cache's limit: what was asked for, or a default that suits the
// file system.
func limitOf(asked int64, dir string) int64 {
	if asked > 0 {
		return asked
	}
	limit := int64(defaultLimit)
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err == nil {
		limit = min(limit, int64(st.Blocks)*int64(st.Bsize)/4)
	}
	return limit
}

// PruneOptions say what to clean up.
type PruneOptions struct {
	Dir   string
	Cache string
	// Limit is what the cache may keep, in bytes; 0 is the default limit, less
	// nothing at all.
	Limit int64
}

// Pruned is what was cleaned up.
type Pruned struct {
	Layers     int   `json:"layers"`
	FreedBytes int64 `json:"freed_bytes"`
	// Kept is what the cache still has.
	KeptBytes int64 `json:"kept_bytes"`
}

// Prune makes room in the layer cache, and removes what killed imports left.
func Prune(ctx context.Context, o PruneOptions) (Pruned, error) {
	if err := sweep(ctx, o.Dir); err != nil {
		return Pruned{}, err
	}
	dir := findCache(o.Cache, o.Dir)
	if dir == "" {
		return Pruned{}, nil
	}
	c, err := openCache(dir)
	if err != nil {
		return Pruned{}, err
	}
	defer c.close()
	limit := max(o.Limit, 0)
	if o.Limit == 0 {
		limit = limitOf(0, dir)
	}
	var p Pruned
	if p.Layers, p.FreedBytes, err = c.trim(limit); err != nil {
		return p, err
	}
	left, err := c.List()
	for _, s := range left {
		p.KeptBytes += s.SizeBytes
	}
	return p, err
}

// sweep removes the unfinished files of the user's imports that were killed: those whose
// lock is free.
func sweep(ctx context.Context, dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, _, ok := strings.Cut(e.Name(), suffix+unfinished)
		left := filepath.Join(dir, e.Name())
		if !ok || !own.Mine(left) {
			continue
		}
		unlock, err := lockImage(ctx, Path(dir, name), nil)
		if err != nil {
			continue // it is in use, or another user's
		}
		os.Remove(left)
		unlock()
	}
	return nil
}
