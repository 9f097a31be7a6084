package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/sys/shell"
)

// sweep deletes a file or directory of an open directory with all that is below.
// It follows no link and enters no mount, not even one that appears meanwhile: the
// kernel is asked for each directory that was opened which mount it belongs to, and
// it refuses itself to delete a mount point. A missing file is no error.
func sweep(dir *os.File, name string) error {
	mount, err := mountOf(dir)
	if err != nil {
		return err
	}
	return sweepBelow(dir, name, mount)
}

func sweepBelow(dir *os.File, name, mount string) error {
	path := filepath.Join(dir.Name(), name)
	err := unlink(dir, name, 0)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if !errors.Is(err, unix.EISDIR) {
		return &fs.PathError{Op: "delete", Path: path, Err: err}
	}
	if err := empty(dir, name, mount); err != nil {
		return err
	}
	if err := unlink(dir, name, unix.AT_REMOVEDIR); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "delete", Path: path, Err: err}
	}
	return nil
}

// empty deletes the entries of a subdirectory of an open directory.
func empty(dir *os.File, name, mount string) error {
	path := filepath.Join(dir.Name(), name)
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	inner := os.NewFile(uintptr(fd), path)
	defer inner.Close()
	own, err := mountOf(inner)
	if err != nil {
		return err
	}
	if own != mount {
		return fmt.Errorf("delete %s: something is mounted there; `umount %s`, then `muster down` again", path, shell.Line([]string{path}))
	}
	names, err := inner.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := sweepBelow(inner, n, mount); err != nil {
			return err
		}
	}
	return nil
}

func unlink(dir *os.File, name string, flags int) error {
	return unix.Unlinkat(int(dir.Fd()), name, flags)
}

// mountOf is the kernel's number of the mount that an open file belongs to. A
// device's number would not do: a bind mount has that of the file system it shows.
func mountOf(f *os.File) (string, error) {
	data, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(int(f.Fd())))
	if err != nil {
		return "", fmt.Errorf("find the mount of %s: %w", f.Name(), err)
	}
	for line := range strings.Lines(string(data)) {
		if id, ok := strings.CutPrefix(line, "mnt_id:"); ok {
			return strings.TrimSpace(id), nil
		}
	}
	return "", fmt.Errorf("find the mount of %s: the kernel does not say", f.Name())
}
