package job

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// openLog opens a file that a job of a user's writes to, and nothing that waits for somebody to write. Users may put a link
// to anything in the place of their logs: root, who may read all, reads only what belongs to the job's user, wherever
// links lead. Others read what the kernel lets them, and root's jobs are root's own.
func openLog(path string, uid int) (*os.File, fs.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil {
		err = mayRead(info, path, os.Geteuid(), uid)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// mayRead fails where root would read another user's file for a job; uid is the job's user, -1 if that is not known.
func mayRead(info fs.FileInfo, path string, caller, uid int) error {
	if caller != 0 || uid == 0 || !info.Mode().IsRegular() {
		return nil
	}
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	switch {
	case uid < 0:
		return fmt.Errorf("%s is not read by root: whose job it is is not known", path)
	case owner != uid:
		return fmt.Errorf("%s is not read by root: it belongs to user %d, and the job to user %d", path, owner, uid)
	}
	return nil
}
