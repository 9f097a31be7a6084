package container

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/image/squashfs"
)

// A crafted file system can attack the kernel that reads it. So the kernel gets only
// images that root alone could write and can change; all others are read by a program
// without rights.

// origin are the facts about an image's file that decide whether the kernel may read it.
type origin struct {
	file fileFacts
	// dirs are the directories above it, the root first.
	dirs []fileFacts
	// written says that a process has it open for writing.
	written bool
	info    squashfs.Info
}

type fileFacts struct {
	path   string
	uid    uint32
	mode   uint32
	fsType int64
}

// distrust says why the kernel may not mount an image; empty means that it may.
func (o origin) distrust() string {
	for _, f := range append(o.dirs, o.file) {
		// In a directory like /tmp only root can remove root's files.
		sticky := f.mode&unix.S_IFMT == unix.S_IFDIR && f.mode&unix.S_ISVTX != 0
		switch {
		case f.uid != 0:
			return fmt.Sprintf("%s does not belong to root", f.path)
		case f.mode&0o022 != 0 && !sticky:
			return fmt.Sprintf("others than root may write %s", f.path)
		case !localFS[f.fsType]:
			return fmt.Sprintf("%s is not on a file system of this machine", f.path)
		}
	}
	switch {
	case o.written:
		return fmt.Sprintf("%s is open for writing", o.file.path)
	case !o.info.OnlyRoot():
		return fmt.Sprintf("files in %s belong to others than root", o.file.path)
	}
	return ""
}

// localFS are file systems whose content only the machine's own root decides.
var localFS = map[int64]bool{
	unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true, unix.F2FS_SUPER_MAGIC: true,
	unix.TMPFS_MAGIC: true, unix.OVERLAYFS_SUPER_MAGIC: true, unix.SQUASHFS_MAGIC: true, unix.EROFS_SUPER_MAGIC_V1: true,
	zfsMagic: true,
}

const zfsMagic = 0x2fc12fc1

// lookAtOrigin looks at an open image and at all that leads to it.
func lookAtOrigin(f *os.File, info squashfs.Info) (origin, error) {
	o := origin{info: info}
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return o, err
	}
	var file unix.Stat_t
	if o.file, err = facts(int(f.Fd()), path, &file); err != nil {
		return o, err
	}
	fd, err := unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return o, err
	}
	defer func() { unix.Close(fd) }()
	var last unix.Stat_t
	at := "/"
	for _, name := range append([]string{"."}, strings.Split(strings.TrimPrefix(path, "/"), "/")...) {
		next, err := unix.Openat(fd, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return o, fmt.Errorf("look at %s: %w", filepath.Join(at, name), err)
		}
		unix.Close(fd)
		fd, at = next, filepath.Join(at, name)
		found, err := facts(fd, at, &last)
		if err != nil {
			return o, err
		}
		o.dirs = append(o.dirs, found)
	}
	o.dirs = o.dirs[:len(o.dirs)-1]
	if last.Dev != file.Dev || last.Ino != file.Ino {
		return o, fmt.Errorf("%s is another file now", path)
	}
	o.written, err = openForWriting(f)
	return o, err
}

func facts(fd int, path string, st *unix.Stat_t) (fileFacts, error) {
	var fs unix.Statfs_t
	if err := errors.Join(unix.Fstat(fd, st), unix.Fstatfs(fd, &fs)); err != nil {
		return fileFacts{}, fmt.Errorf("look at %s: %w", path, err)
	}
	return fileFacts{path: path, uid: st.Uid, mode: st.Mode, fsType: int64(fs.Type)}, nil
}

// openForWriting asks the kernel for a lease on reading, which it refuses while the
// file is open for writing, even by a process that could not open it so any more.
func openForWriting(f *os.File) (bool, error) {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if errors.Is(err, unix.EAGAIN) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask who writes %s: %w", f.Name(), err)
	}
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	return false, err
}
