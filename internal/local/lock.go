package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/sys/own"
)

// lockFile stands beside the run directory, which comes and goes.
func (r Ref) lockFile() string { return filepath.Join(r.Home, r.Name+".lock") }

// lock makes the caller the only one that changes the cluster until the
// returned function is called. It fails at once if another process has the lock.
func (r Ref) lock() (unlock func(), err error) {
	if err := os.MkdirAll(r.Home, 0o755); err != nil {
		return nil, err
	}
	if err := r.guard(); err != nil {
		return nil, err
	}
	for {
		f, err := r.tryLock()
		if err != nil {
			return nil, err
		}
		if isAt(f, f.Name()) {
			return func() { r.unlock(f) }, nil
		}
		f.Close() // its owner took it away when we had opened it
	}
}

func (r Ref) tryLock() (*os.File, error) {
	f, err := own.Open(r.lockFile())
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("cluster %s is being changed by another muster; wait for it to end", r.Name)
	}
	return f, nil
}

// unlock takes the file away where there is no run directory it could be for.
func (r Ref) unlock(f *os.File) {
	if _, err := os.Lstat(r.Layout().Dir); errors.Is(err, fs.ErrNotExist) {
		_ = os.Remove(r.lockFile()) // else it stays, and does no harm
	}
	f.Close()
}

// Kept are the clusters that were taken down and whose data is still in a home.
func Kept(home string) []string {
	entries, _ := os.ReadDir(home)
	var names []string
	for _, e := range entries {
		l := Ref{Home: home, Name: e.Name()}.Layout()
		_, err := os.Lstat(l.Path("cluster.json"))
		if errors.Is(err, fs.ErrNotExist) && e.IsDir() && claimed(l.Dir) == nil && slices.ContainsFunc(kept, func(part string) bool { return holdsData(l, part) }) {
			names = append(names, e.Name())
		}
	}
	return names
}

// there tells whether there is anything of the cluster: it itself, its data, or what
// an `up` or a `down` that was cut off left of it, or somebody who deleted its directory.
func (r Ref) there() bool {
	_, noDir := os.Lstat(r.Layout().Dir)
	_, noLock := os.Lstat(r.lockFile())
	return noDir == nil || noLock == nil || r.withoutDirectory() != nil
}

// withoutDirectory is an error where the cluster runs and its directory is no longer there.
func (r Ref) withoutDirectory() error {
	l := r.Layout()
	if _, err := os.Lstat(l.Dir); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	a, runs := l.Alive()
	if !runs {
		return nil
	}
	return fmt.Errorf("cluster %s runs, as process %d and those below it, and its directory %s was deleted or moved: `muster down --cluster %s` ends it", r.Name, a.PID, l.Dir, r.Name)
}
