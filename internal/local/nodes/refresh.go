package nodes

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Refresh has every machine that runs look anew at what the host has: a layer over a
// directory remembers names that were looked up there, also those that were not there,
// and never hears that the host's directory changed. Users whom the host has got come into
// the machines' own lists. What jobs have open stays as it is. It must be called in the anchor's namespaces, and may be repeated.
func (l *Layout) Refresh() error {
	lists, err := l.userFiles()
	if err != nil {
		return err
	}
	return onMachines("look anew on", func(m mounts) error { return l.lookAnew(m, l.ownOf(m.machine, lists)) })
}

// lookAnew makes a machine's overlays drop their cached names that are not in use:
// reconfiguring a file system does that, even without a change. Then it brings the
// machine's lists of users up to date.
func (l *Layout) lookAnew(m mounts, lists map[string]string) error {
	// In the other namespace, /proc shows other processes.
	self, err := unix.Open("/proc/thread-self", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(self)
	if err := m.enter(); err != nil {
		return err
	}
	mountinfo, err := readAt(self, "mountinfo")
	for _, at := range l.layers(mountinfo) {
		err = errors.Join(err, reconfigure(at))
	}
	return errors.Join(err, learn("/", lists))
}

// readAt reads a file of a folder.
func readAt(folder int, name string) (string, error) {
	fd, err := unix.Openat(folder, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	text, err := io.ReadAll(f)
	return string(text), err
}

// layers are the mount points in a mountinfo, proc(5), of what the cluster's machines
// have over the host's directories. The host and jobs may have such file systems, too.
func (l *Layout) layers(mountinfo string) []string {
	ours := "upperdir=" + unquoted(l.Path("mnt")) + "/"
	var found []string
	for line := range strings.Lines(mountinfo) {
		before, after, _ := strings.Cut(line, " - ")
		f := strings.Fields(before)
		if len(f) > 4 && strings.HasPrefix(after, "overlay ") && strings.Contains(unquoted(unescape.Replace(after)), ours) {
			found = append(found, unescape.Replace(f[4]))
		}
	}
	return found
}

// unquoted is a path among mount options without its backslashes.
func unquoted(path string) string { return strings.ReplaceAll(path, `\`, "") }

// reconfigure configures a file system as it is.
func reconfigure(at string) error {
	fd, err := unix.Fspick(unix.AT_FDCWD, at, unix.FSPICK_CLOEXEC|unix.FSPICK_NO_AUTOMOUNT)
	if err != nil {
		return fmt.Errorf("pick %s: %w", at, err)
	}
	defer unix.Close(fd)
	// An overlay of a user namespace below ours can be reconfigured only from there.
	if err := unix.FsconfigReconfigure(fd); err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("configure %s: %w", at, err)
	}
	return nil
}
