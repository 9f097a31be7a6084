package local

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// roomBytes is what the run directory of a new cluster needs: its programs,
// MariaDB's files and a day's logs.
const roomBytes = 200 << 20

// room refuses to start a cluster where its daemons would soon find no space.
func (u *up) room() error {
	if _, alive := u.layout.Alive(); alive {
		return nil
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(u.Ref.Home, &fs); err != nil {
		return fmt.Errorf("look at the space in %s: %w", u.Ref.Home, err)
	}
	if free := fs.Bavail * uint64(fs.Bsize); free < roomBytes {
		return fmt.Errorf("not enough space: %s has %d MB free, a cluster needs %d MB; make room, or let MUSTER_HOME name another folder", u.Ref.Home, free>>20, roomBytes>>20)
	}
	return nil
}
