package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/sys/own"
	"github.com/muster-hpc/muster/internal/sys/pause"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// A lock that others hold is tried again after a wait, which grows, since on a
// network file system many nodes may wait. The kernel would wait without us, but
// not until a context ends.
const (
	lockWait     = 20 * time.Millisecond
	lockWaitMost = 500 * time.Millisecond
)

// errLocked is returned where the caller does not wait for a lock.
var errLocked = errors.New("another process works on it")

// locksOf is the folder of the locks on a directory's images: the user's own, since a user
// who may open a lock's file may hold the lock for ever.
func locksOf(dir string) (string, error) { return own.Make(dir, cacheName(dir), os.Geteuid()) }

// lockImage takes the lock on an image of the user's, over all processes and, where
// flock works over the network, all nodes. Two users who make the same image do not
// wait for each other.
func lockImage(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	dir, err := locksOf(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return lock(ctx, filepath.Join(dir, "."+filepath.Base(path)+".lock"), waiting)
}

// lock takes the lock that a file in a directory of the user's own is. waiting is called
// once if it has to wait; without it, the error is errLocked. The file goes when the
// lock is given back.
func lock(ctx context.Context, name string, waiting func()) (unlock func(), err error) {
	wait := lockWait
	for waited := false; ; wait = min(2*wait, lockWaitMost) {
		f, err := tryLock(name)
		switch {
		case err == nil:
			// No other process can hold a lock on this file's name.
			return func() {
				os.Remove(name)
				f.Close()
			}, nil
		case !errors.Is(err, errLocked):
			return nil, fmt.Errorf("lock %s: %w", name, whole.Cause(err))
		case waiting == nil:
			return nil, err
		case !waited:
			waited = true
			waiting()
		}
		if err := pause.For(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// tryLock locks the file that has the name. A file that lost its name while it
// was being locked is none.
func tryLock(name string) (*os.File, error) {
	f, err := own.Open(name)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		var mine, named unix.Stat_t
		if unix.Fstat(int(f.Fd()), &mine) == nil && unix.Lstat(name, &named) == nil && mine.Ino == named.Ino && mine.Dev == named.Dev {
			return f, nil
		}
		err = unix.EWOULDBLOCK
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return nil, errLocked
	}
	return nil, err
}
