package local

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// unreadChanges is there from before files of a cluster that runs are written until its daemons have read them: an `up` that is cut off
// between leaves it, and the next one, which finds nothing to write, has them read what they have not.
const unreadChanges = "unread-changes"

// writeAll writes the files of the run directory and the programs, and finds out whether daemons that run have to read them.
func (u *up) writeAll() error {
	_, alive := u.layout.Alive()
	if !alive { // whatever starts reads all
		if err := u.allRead(); err != nil {
			return err
		}
	} else if err := u.markUnread(); err != nil {
		return err
	}
	if err := u.writeFiles(); err != nil {
		return err
	}
	newer, err := installPrograms(u.layout)
	u.changed = u.changed || newer
	if err != nil || u.changed {
		return err
	}
	return u.allRead()
}

// markUnread makes the mark. One that is there was left by an `up` that was cut off.
func (u *up) markUnread() error {
	f, err := os.OpenFile(u.layout.Path(unreadChanges), os.O_CREATE|os.O_EXCL|os.O_WRONLY|unix.O_NOFOLLOW, 0o600)
	if errors.Is(err, fs.ErrExist) {
		u.changed = true
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// allRead says that the daemons have read all files.
func (u *up) allRead() error { return sweepPath(u.layout, unreadChanges) }
