package clean

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"
)

// id tells files of one machine apart.
type id struct{ device, inode uint64 }

// mount tells mounts apart. Its number is 0 where the kernel does not tell it; then the
// device does.
type mount struct{ device, number uint64 }

// stat is what is known of a file.
type stat struct {
	id
	ordinary bool
	size     int64
	modified time.Time
}

func statOf(s *unix.Stat_t) stat {
	return stat{
		id:       id{uint64(s.Dev), uint64(s.Ino)},
		ordinary: s.Mode&unix.S_IFMT == unix.S_IFREG,
		size:     s.Size,
		modified: time.Unix(s.Mtim.Unix()),
	}
}

// directory is one that is held open.
type directory struct {
	file *os.File
	path string
	is   id
	at   mount
	// less says that an entry was deleted since it was read from its beginning.
	less bool
}

func (d *directory) fd() int { return int(d.file.Fd()) }

// look looks at an entry, not through links.
func (d *directory) look(name string) (stat, error) {
	var s unix.Stat_t
	err := again(func() error { return unix.Fstatat(d.fd(), name, &s, unix.AT_SYMLINK_NOFOLLOW) })
	return statOf(&s), err
}

// open opens a directory of the directory, and no link to one.
func (d *directory) open(name string) (*directory, error) {
	return openAt(d.fd(), name, path.Join(d.path, name))
}

func openAt(at int, name, called string) (*directory, error) {
	fd := -1
	err := again(func() (err error) {
		fd, err = unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look into %s: %w", called, err)
	}
	d := &directory{file: os.NewFile(uintptr(fd), called), path: called}
	if err := d.fill(); err != nil {
		d.file.Close()
		return nil, fmt.Errorf("look into %s: %w", called, err)
	}
	return d, nil
}

func (d *directory) fill() error {
	var s unix.Stat_t
	if err := again(func() error { return unix.Fstat(d.fd(), &s) }); err != nil {
		return err
	}
	d.is = statOf(&s).id
	d.at = mount{d.is.device, mountNumber(d.fd())}
	return nil
}

// again repeats a call that a signal interrupts.
func again(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// gone tells whether a name is of nothing any more, or of something of another kind.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}
