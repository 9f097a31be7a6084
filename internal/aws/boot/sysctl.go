package boot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// sysctlFile has what was set of the kernel, for the next restart.
const sysctlFile = "/etc/sysctl.d/90-muster.conf"

// sysctl sets something of the kernel, now and after the next restart. had is false for
// a kernel that does not have it, or that is another machine's, too.
func (m Machine) sysctl(name, value string) (had bool, err error) {
	if !m.Systemd() {
		return false, nil // a machine without an init of its own has no kernel of its own
	}
	at := m.path("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err := os.WriteFile(at, []byte(value+"\n"), 0o644); err != nil {
		return true, fmt.Errorf("set %s to %s: %w", name, value, err)
	}
	old, err := m.Read(sysctlFile)
	if err != nil {
		return true, err
	}
	var b strings.Builder
	for line := range strings.Lines(old) {
		if !strings.HasPrefix(line, name+" =") {
			b.WriteString(line)
		}
	}
	fmt.Fprintf(&b, "%s = %s\n", name, value)
	_, err = m.Write(sysctlFile, b.String(), 0o644, "")
	return true, err
}

// OpenNamespaces lets users make the namespaces of their containers where the image
// keeps them from it, as Ubuntu 24.04 does. Without them no container of an ordinary
// user starts.
func (m Machine) OpenNamespaces(context.Context) (string, error) {
	for name, closed := range map[string]string{"kernel.apparmor_restrict_unprivileged_userns": "1", "kernel.unprivileged_userns_clone": "0"} {
		have, err := m.Read("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(have) != closed {
			continue
		}
		open := map[string]string{"0": "1", "1": "0"}[closed]
		if had, err := m.sysctl(name, open); err != nil || had {
			return fmt.Sprintf("; %s is %s now, so that users can make containers", name, open), err
		}
	}
	return "", nil
}
