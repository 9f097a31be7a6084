package doctor

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/sys/own"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// guardFiles stand in for the programs by which packages' scripts start and
// enable services. The scripts call them by name, so a folder at the front of
// their PATH is enough: nothing of the system is changed, not even for the
// time of the installation, and a kill -9 leaves a folder in /run at most.
//
// The usual way, /usr/sbin/policy-rc.d, would have to be put there and taken
// away again, and does not keep services from being enabled.
//
//go:embed guard
var guardFiles embed.FS

// guard is the folder with the stand-ins, locked as long as it is open.
type guard struct {
	dir  string
	lock *os.File
}

// openGuard makes the folder. It is an error if an installation that uses it is
// under way, be it without the process that began it.
func openGuard(dir string) (*guard, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := own.Open(filepath.Join(dir, "lock")) // others can lock the folder itself
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another installation is under way (%s is locked: %w)", dir, err), lock.Close())
	}
	g := &guard{dir: dir, lock: lock}
	if err := g.fill(); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

func (g *guard) fill() error {
	return fs.WalkDir(guardFiles, "guard", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := guardFiles.ReadFile(path)
		if err != nil {
			return err
		}
		return whole.Write(filepath.Join(g.dir, entry.Name()), text, 0o755)
	})
}

// path is the PATH with the stand-ins in front.
func (g *guard) path() string { return g.dir + ":/usr/sbin:/usr/bin:/sbin:/bin" }

func (g *guard) close() error {
	return errors.Join(os.RemoveAll(g.dir), g.lock.Close())
}
