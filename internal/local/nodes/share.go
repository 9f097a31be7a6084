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
	for _, m := range r.Shared {
		if m.Source == m.Target && (path == m.Target || strings.HasPrefix(path, m.Target+"/")) {
			return true
		}
	}
	return false
}

// Keep also shows what another record of the same cluster shows of the host: jobs
// that wait, or run again, use it. Nobody can tell when the last one has, so it is
// shown until the cluster goes down, or the directory does.
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
	inits, err := nodeInits(ownAnchor)
	if err != nil {
		return err
	}
	errs := []error{attach(dir, "the head node", "/proc/1/fd/"+strconv.Itoa(headMount))}
	for _, i := range inits {
		errs = append(errs, attach(dir, i.name, "/proc/"+strconv.Itoa(i.pid)+"/ns/mnt"))
	}
	return errors.Join(errs...)
}

// attach mounts a directory that the caller sees into another mount namespace.
func attach(dir, machine, namespace string) error {
	err := thread.Do(unix.CLONE_NEWNS, func() error {
		ns, err := unix.Open(namespace, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) {
			return nil // the node ended just now
		}
		if err != nil {
			return err
		}
		defer unix.Close(ns)
		tree, err := unix.OpenTree(unix.AT_FDCWD, dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		if err != nil {
			return err
		}
		defer unix.Close(tree)
		if err := unix.Setns(ns, unix.CLONE_NEWNS); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		return unix.MoveMount(tree, "", unix.AT_FDCWD, dir, unix.MOVE_MOUNT_F_EMPTY_PATH)
	})
	if err != nil {
		return fmt.Errorf("show %s on %s: %w", dir, machine, err)
	}
	return nil
}
