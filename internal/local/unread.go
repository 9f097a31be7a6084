package local

import (
	"errors"
	"io/fs"
	"os"
)

// unreadFile is there while files are written that daemons have not read yet. Where an `up` is cut off before they have, the next one
// finds nothing to write, and this.
const unreadFile = "unread"

// writeUnread writes the files of the run directory and the programs, and finds out whether the daemons of a cluster that runs have to read them.
func (u *up) writeUnread() error {
	l := u.layout
	f, err := os.OpenFile(l.Path(unreadFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		u.changed = true
	case err != nil:
		return err
	default:
		if err := f.Close(); err != nil {
			return err
		}
	}
	if err := u.writeFiles(); err != nil {
		return err
	}
	newer, err := installPrograms(l)
	u.changed = u.changed || newer
	if err != nil || u.changed {
		return err
	}
	return u.allRead()
}

// allRead says that the daemons have read all files.
func (u *up) allRead() error { return sweepPath(u.layout, unreadFile) }
