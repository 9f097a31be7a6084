package own

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"

	"golang.org/x/sys/unix"
)

// Give sets the owner, unless that is the caller, and the mode of a file or, as the
// mode says, of a directory. It refuses links and all other kinds of files.
func Give(path, owner string, mode fs.FileMode) error {
	flags := os.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK
	if mode.IsDir() {
		flags |= unix.O_DIRECTORY
	}
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return fmt.Errorf("set the owner and the mode, following no link: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return err
	} else if !mode.IsDir() && !info.Mode().IsRegular() {
		return fmt.Errorf("set the mode of %s: it is no file", path)
	}
	uid, gid, err := ids(owner)
	if err != nil {
		return fmt.Errorf("give %s to %s: %w", path, owner, err)
	}
	if uid != os.Getuid() {
		if err := f.Chown(uid, gid); err != nil {
			return err
		}
	}
	return f.Chmod(mode &^ os.ModeDir)
}

// ids are a user's, or the caller's for none.
func ids(owner string) (uid, gid int, err error) {
	if owner == "" {
		return os.Getuid(), os.Getgid(), nil
	}
	u, err := user.Lookup(owner)
	if err != nil {
		return 0, 0, err
	}
	uid, _ = strconv.Atoi(u.Uid) // the system's own numbers
	gid, _ = strconv.Atoi(u.Gid)
	return uid, gid, nil
}
