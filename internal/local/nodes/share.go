package nodes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/sys/thread"
)

// Shareable tells whether a directory of the host may be shown, writable, on
// every machine of a cluster: anything but the system's own directories.
func Shareable(dir string) bool {
	if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir {
		return false
	}
	top, rest, _ := strings.Cut(dir[1:], "/")
	switch top {
	case "", "bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "run", "sbin", "sys", "usr":
		return false
	case "home", "tmp":
		return rest != ""
	case "var":
		return strings.HasPrefix(rest, "tmp/") || strings.HasPrefix(rest, "lib/")
	}
	return true
}

// Visible tells whether a path of the host is the same file on every machine.
func (r Record) Visible(path string) bool {
	return slices.ContainsFunc(r.Shared, func(m Mount) bool { return m.Source == m.Target && within(path, m.Target) })
}

// Keep adds the directories of the host that another record of the same cluster shows:
// jobs that wait, or run again, may still use them. They stay until the cluster goes
// down or the directory is gone.
func (r *Record) Keep(old Record) {
	for _, m := range old.Shared {
		if m.Source == m.Target && !absent(m.Source) {
			r.show(m.Source)
		}
	}
}

// show adds a directory of the host, unless it is visible, or hidden by what the
// cluster file mounts there. What contains another mount comes before it.
func (r *Record) show(dir string) {
	if r.Visible(dir) || slices.ContainsFunc(r.Shared, func(m Mount) bool { return m.Target == dir }) {
		return
	}
	r.Shared = append(slices.Clone(r.Shared), Mount{Source: dir, Target: dir})
	slices.SortStableFunc(r.Shared, func(a, b Mount) int { return strings.Compare(a.Target, b.Target) })
}

// present are the mounts but for directories of the host that are no more: they
// keep no machine from starting.
func present(mounts []Mount) []Mount {
	return slices.DeleteFunc(slices.Clone(mounts), func(m Mount) bool { return m.Source == m.Target && absent(m.Source) })
}

func absent(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}

// Share shows a directory of the host on the head node and on every node, those
// that run and those to come. It must be called in the anchor's namespaces, and
// may be repeated.
func (l *Layout) Share(dir string) error {
	if !Shareable(dir) {
		return fmt.Errorf("%s is the system's own and is not shared", dir)
	}
	if r, err := l.Record(); err != nil || r.Visible(dir) {
		return err
	}
	// Nodes that start from now on have it.
	if err := l.ChangeRecord(func(r Record) Record {
		r.show(dir)
		return r
	}); err != nil {
		return err
	}
	return onMachines("show "+dir+" on", func(m mounts) error { return m.attach(dir) })
}

// attach mounts a directory that the caller sees into the namespace.
func (m mounts) attach(dir string) error {
	tree, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	if err := m.enter(); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return unix.MoveMount(tree, "", unix.AT_FDCWD, dir, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// mounts is the mount namespace of a machine, which is not entered yet.
type mounts struct {
	machine string // the node's name, headDir for the head node
	fd      int
}

// enter takes the calling thread into the namespace.
func (m mounts) enter() error { return unix.Setns(m.fd, unix.CLONE_NEWNS) }

// onMachines calls f for every machine that runs, each time on a thread that may enter its
// mount namespace. Errors say what was to be done.
func onMachines(what string, f func(mounts) error) error {
	inits, err := nodeInits(ownAnchor)
	if err != nil {
		return err
	}
	errs := []error{onMachine(what, headDir, "/proc/1/fd/"+strconv.Itoa(headMount), f)}
	for _, i := range inits {
		errs = append(errs, onMachine(what, i.name, "/proc/"+strconv.Itoa(i.pid)+"/ns/mnt", f))
	}
	return errors.Join(errs...)
}

func onMachine(what, machine, namespace string, f func(mounts) error) error {
	err := thread.Do(unix.CLONE_NEWNS, func() error {
		fd, err := unix.Open(namespace, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) {
			return nil // the node ended just now
		}
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return f(mounts{machine, fd})
	})
	if err == nil {
		return nil
	}
	if machine == headDir {
		machine = "the head node"
	}
	return fmt.Errorf("%s %s: %w", what, machine, err)
}
