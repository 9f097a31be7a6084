package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/local/nodes"
)

// forwardMark is what the names of directories of forwards begin with.
const forwardMark = "forward-"

// forwardPlace makes a directory for a forward and locks it until the file is closed or
// the process has ended, whatever way: SweepForwards leaves it alone until then.
func forwardPlace(parent string) (dir string, lock *os.File, err error) {
	for {
		dir, err := os.MkdirTemp(parent, forwardMark)
		if err != nil {
			return "", nil, fmt.Errorf("make a directory for builders: %w", err)
		}
		lock, err := lockForward(dir)
		if err == nil && isAt(lock, dir) {
			return dir, lock, nil
		}
		if err == nil {
			lock.Close()
		}
		// Before it was locked, another process took it for a dead forward's and deletes it.
		if err != nil && !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, fs.ErrNotExist) {
			return "", nil, errors.Join(err, os.Remove(dir))
		}
	}
}

// lockForward opens and locks a directory of a forward. It fails if another process has it.
func lockForward(dir string) (*os.File, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	f := os.NewFile(uintptr(fd), dir)
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return f, nil
}

// isAt tells whether an open file or directory is still the one at a path.
func isAt(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(mine, there)
}

// SweepForwards deletes what forwards left that were killed: an account, and the address
// of a port that may be another's by now.
func SweepForwards(l *nodes.Layout) error { return sweepForwards(l.Path("etc")) }

func sweepForwards(path string) error {
	parent, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("look for what killed forwards left: %w", err)
	}
	defer parent.Close()
	names, err := parent.Readdirnames(-1)
	for _, name := range names {
		if !strings.HasPrefix(name, forwardMark) {
			continue
		}
		lock, lockErr := lockForward(filepath.Join(path, name))
		if lockErr != nil {
			continue // it is in use, or no directory, or gone
		}
		if sweepErr := sweep(parent, name); sweepErr != nil {
			err = errors.Join(err, fmt.Errorf("delete what a killed forward left: %w", sweepErr))
		}
		lock.Close()
	}
	return err
}
