package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// A lock that others hold is tried again after a wait, which grows, since on a
// network file system many nodes may wait. The kernel would wait without us, but
// not until a context ends.
const (
	lockWait     = 20 * time.Millisecond
	lockWaitMost = 500 * time.Millisecond
)

// errLocked is returned where nobody wants to wait for a lock.
var errLocked = errors.New("somebody else works on it")

// lockFile is where the lock on a file is.
func lockFile(path string) string {
	return filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".lock")
}

// lock takes the lock on a file, over all processes and, where flock works over
// the network, all nodes. waiting is called once if it has to wait; without it,
// the error is errLocked. The lock's file goes when it is given back.
func lock(ctx context.Context, path string, waiting func()) (unlock func(), err error) {
	name := lockFile(path)
	wait := lockWait
	for waited := false; ; wait = min(2*wait, lockWaitMost) {
		f, err := tryLock(name)
		switch {
		case err == nil:
			// Nobody else can hold a lock on this file's name.
			return func() {
				os.Remove(name)
				f.Close()
			}, nil
		case !errors.Is(err, errLocked):
			return nil, fmt.Errorf("lock %s: %w", path, err)
		case waiting == nil:
			return nil, err
		case !waited:
			waited = true
			waiting()
		}
		if err := pause(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// tryLock locks the file that has the name. A file that lost its name while it
// was being locked is none.
func tryLock(name string) (*os.File, error) {
	f, err := openLock(name)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		var mine, named unix.Stat_t
		if unix.Fstat(int(f.Fd()), &mine) == nil && unix.Stat(name, &named) == nil && mine.Ino == named.Ino && mine.Dev == named.Dev {
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

// openLock opens a lock's file, or makes it. In a directory of all users it may
// be another one's, and is as good.
func openLock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if !errors.Is(err, fs.ErrPermission) {
		return f, bare(err)
	}
	theirs, openErr := os.Open(name)
	switch {
	case openErr == nil:
		return theirs, nil
	case errors.Is(openErr, fs.ErrNotExist) && unix.Access(filepath.Dir(name), unix.W_OK) == nil:
		return nil, errLocked // it was there, and is given back
	}
	return nil, bare(err)
}

// pause waits, or returns why the context ended before.
func pause(ctx context.Context, wait time.Duration) error {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// bare is an error about a file without the file's name.
func bare(err error) error {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err
	}
	return err
}
