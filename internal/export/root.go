package export

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// openRoot opens a directory. Below a trusted part of its path no link is followed: it may be a user's, who would have
// others' files exported by whoever may read them. With "" all of the path is trusted.
func openRoot(dir, trusted string) (*os.Root, error) {
	if trusted == "" || trusted == dir {
		return os.OpenRoot(dir)
	}
	rest, err := filepath.Rel(trusted, dir)
	if err != nil {
		return nil, err
	}
	top, err := os.Open(trusted)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	fd, err := unix.Openat2(int(top.Fd()), rest, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_BENEATH,
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: dir, Err: err}
	}
	found := os.NewFile(uintptr(fd), dir)
	defer found.Close()
	root, err := os.OpenRoot("/proc/self/fd/" + strconv.Itoa(int(found.Fd())))
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	return root, nil
}

func (r Rule) open() (*os.Root, error) { return openRoot(r.Dir, r.Trusted) }
