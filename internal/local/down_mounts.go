package local

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/shell"
)

// removable refuses to take down a cluster with mounts where something would be
// deleted: the files on them are not the cluster's.
func (o DownOptions) removable() error {
	l := o.Ref.Layout()
	mounts, err := l.Mounts()
	if err != nil {
		return err
	}
	top, err := filepath.EvalSymlinks(l.Dir)
	if err != nil {
		return nil // there is no run directory, and so no mount
	}
	return refuseMounts(inTheWay(mounts, top, o.DeleteData))
}

// inTheWay are the mounts below a run directory of which something would be deleted:
// all, or but for those of the user's among his data. A run directory that is a mount
// itself is emptied like any other.
func inTheWay(mounts []string, dir string, deleteData bool) []string {
	return slices.DeleteFunc(slices.Clone(mounts), func(m string) bool {
		part, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(m, dir), "/"), "/")
		return m == dir || !deleteData && slices.Contains(kept, part)
	})
}

// refuseMounts names mounts and how to be rid of them, the last one first.
func refuseMounts(mounts []string) error {
	if len(mounts) == 0 {
		return nil
	}
	lines := []string{"something is mounted below the run directory, and what is on it is not the cluster's; nothing was touched. Unmount it, then `muster down` again:"}
	for _, m := range slices.Backward(mounts) {
		lines = append(lines, "  umount "+shell.Line([]string{m}))
	}
	return errors.New(strings.Join(lines, "\n"))
}
