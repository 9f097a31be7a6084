package layer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// part is a segment that is being written: a locked file beside its place. If
// its writer is killed, the lock goes, and the next writer or Open takes or
// removes the file.
type part struct {
	*os.File
	place string // where it belongs
}

// lockPoll is how often a lock is tried that another process holds.
const lockPoll = 50 * time.Millisecond

// newPart waits until no one else writes this segment. It returns nil if the
// segment is there by then.
func newPart(ctx context.Context, place string) (*part, error) {
	name := strings.TrimSuffix(place, segmentSuffix) + partSuffix
	for {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		err = lock(ctx, f)
		if unlockable(err) {
			f.Close()
			return unlocked(place)
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("wait for another process that reads this layer: %w", err)
		}
		p := &part{File: f, place: place}
		if !p.named(name) { // its last holder renamed or removed it
			f.Close()
			continue
		}
		if _, err := os.Stat(place); err == nil {
			return nil, p.discard()
		}
		return p, f.Truncate(0)
	}
}

// unlockable says whether the file system has no locks.
func unlockable(err error) bool {
	return errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL)
}

// unlocked is a part under a name of its own, without a lock: two processes may then
// do the same work, and the last one's segment stays.
func unlocked(place string) (*part, error) {
	f, err := os.CreateTemp(filepath.Dir(place), filepath.Base(place)+"-*"+partSuffix)
	return &part{File: f, place: place}, err
}

// lock waits for the lock of a file until the context ends.
func lock(ctx context.Context, f *os.File) error {
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// named says whether the open file is still the one of this name.
func (p *part) named(name string) bool {
	have, err := p.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(name)
	return err == nil && os.SameFile(have, there)
}

// commit puts the segment in its place, safe on disk.
func (p *part) commit() error {
	if err := p.Sync(); err != nil {
		return err
	}
	if err := os.Rename(p.Name(), p.place); err != nil {
		return err
	}
	return p.Close()
}

// discard removes the part.
func (p *part) discard() error {
	return errors.Join(os.Remove(p.Name()), p.Close())
}

// sweep removes parts that no process writes.
func (c *Cache) sweep() error {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return fmt.Errorf("clean up layer cache: %w", err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), partSuffix) {
			continue
		}
		name := filepath.Join(c.dir, e.Name())
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			continue // gone, or another user's
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			err = os.Remove(name)
		}
		f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("clean up layer cache: %w", err)
		}
	}
	return nil
}
