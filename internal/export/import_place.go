package export

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"

	"github.com/muster-hpc/muster/internal/store"
	"golang.org/x/sys/unix"
)

// An import writes where users write, too, and as root. So it goes down to each directory without following a link, holds it open,
// and names what it makes in it from there: what is put in the way meanwhile leads nowhere else.

// made opens a directory below the mirror's, and makes it and those above it if they are not there.
func (in *importer) made(dir string) (*os.Root, error) { return in.down(dir, makeDir) }

// opened opens a directory that is there.
func (in *importer) opened(dir string) (*os.Root, error) {
	return in.down(dir, func(int, string) error { return nil })
}

func makeDir(above int, name string) error {
	if err := unix.Mkdirat(above, name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// down opens one directory after the other, and does something before each of them. For syscall.ENOTDIR something else has the name: a
// link, too.
func (in *importer) down(dir string, before func(above int, name string) error) (*os.Root, error) {
	at, err := in.dir.Open(".")
	if err != nil || dir == "." {
		return asRoot(at, err)
	}
	for n, name := range strings.Split(dir, "/") {
		below := -1
		if err = before(int(at.Fd()), name); err == nil {
			below, err = unix.Openat(int(at.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		}
		at.Close()
		if errors.Is(err, syscall.ENOTDIR) {
			err = errors.New("it is no directory")
		}
		if err != nil {
			return nil, fmt.Errorf("go into %s: %w", strings.Join(strings.Split(dir, "/")[:n+1], "/"), err)
		}
		at = os.NewFile(uintptr(below), name)
	}
	return asRoot(at, nil)
}

// asRoot is an open directory as the top of what is in it.
func asRoot(dir *os.File, err error) (*os.Root, error) {
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return os.OpenRoot("/proc/self/fd/" + strconv.Itoa(int(dir.Fd())))
}

// link makes a symbolic link, if it stays in the directory.
func (in *importer) link(body io.Reader, o store.Object, p string, at *os.Root, name string) error {
	if o.SizeBytes > pointerBytes {
		return fmt.Errorf("a link of %d bytes is none", o.SizeBytes)
	}
	target, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	text, stays := linkText(in.rule.Mount, p, string(target))
	if !stays {
		return fmt.Errorf("the link leads to %q, outside of the directory", target)
	}
	return at.Symlink(text, name)
}

// date sets the time of an open file: by its name it might be another one's.
func date(f *os.File, at stamp) error {
	name := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	return os.Chtimes(name, at.time(), at.time())
}

// place gives a file its name, if nothing happened there since the look.
func place(f fetch, at *os.Root, beside string) error {
	name := path.Base(f.Path)
	if f.Over != nil {
		return alone(*f.Over, at, func() error { return at.Rename(beside, name) })
	}
	there, err := isFile(at, name)
	switch {
	case err != nil:
		return err
	case there:
		return errBusy // it just came; the next look decides
	}
	return appear(at, beside, name)
}

// isFile says whether there is a file. That anything else has its name is an error.
func isFile(at *os.Root, name string) (bool, error) {
	info, err := at.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case info.Mode().IsRegular() || info.Mode().Type() == fs.ModeSymlink:
		return true, nil
	}
	return false, errors.New("what is there under this name is no file")
}

// appear renames a file where there is none. A file that comes in this moment stays.
func appear(at *os.Root, beside, name string) error {
	dir, err := at.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	err = unix.Renameat2(int(dir.Fd()), beside, int(dir.Fd()), name, unix.RENAME_NOREPLACE)
	switch {
	case errors.Is(err, fs.ErrExist):
		return errBusy
	case errors.Is(err, syscall.EINVAL): // a file system without it
		return at.Rename(beside, name)
	}
	return err
}

// alone does something to a file that is as it was seen and is not being written. A lease shows whether a process has it
// open for writing, in any mount namespace; a file system without leases cannot tell.
func alone(f File, at *os.Root, do func() error) error {
	name := path.Base(f.Path)
	if f.Link == "" {
		held, err := at.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		defer held.Close()
		if _, err := unix.FcntlInt(held.Fd(), unix.F_SETLEASE, unix.F_RDLCK); errors.Is(err, syscall.EAGAIN) {
			return errBusy
		}
	}
	info, err := at.Lstat(name)
	if err != nil {
		return err
	}
	now := described(f.Path, info)
	if f.Link != "" { // one that changed is another inode
		now.SizeBytes, now.Target = f.SizeBytes, f.Target
	}
	if !unchanged(now, f) {
		return errBusy
	}
	return do()
}

func syncDir(at *os.Root) error {
	dir, err := at.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
