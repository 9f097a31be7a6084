package boot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// What muster keeps on a machine's disk, and whose it is.
const (
	stateDir  = "/var/lib/muster"
	ownerFile = stateDir + "/instance"
)

// Own forgets what muster kept on the disk for another instance: an image that was made
// of a machine has that machine's key, journal and list of scripts that ran.
func (m Machine) Own(instance string) (string, error) {
	owner, err := m.Read(ownerFile)
	if err != nil || owner == instance {
		return "", err
	}
	detail := ""
	if owner != "" {
		// Away in one piece: half of it would be taken for this machine's.
		former := m.path(stateDir + ".former")
		err := errors.Join(os.RemoveAll(former), os.Rename(m.path(stateDir), former))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("forget what %s kept: %w", owner, err)
		}
		if err := os.RemoveAll(former); err != nil {
			return "", fmt.Errorf("forget what %s kept: %w", owner, err)
		}
		detail = "; the image is of " + owner + ", and what that kept is gone"
	}
	_, err = m.Write(ownerFile, instance, 0o644, "")
	return detail, err
}
