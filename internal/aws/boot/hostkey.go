package boot

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sshDir has sshd's keys.
const sshDir = "/etc/ssh"

// HostKeys gives sshd its host keys, by the names of their files, with the lines of
// their public halves. Keys of other kinds are taken away: they would be this machine's
// alone. Open sessions go on.
func (m Machine) HostKeys(ctx context.Context, private, public map[string]string) (string, error) {
	changed := false
	for name, text := range private {
		other, err := m.Write(filepath.Join(sshDir, name), text, 0o600, "")
		if err != nil {
			return "", err
		}
		if _, err := m.Write(filepath.Join(sshDir, name+".pub"), public[name]+"\n", 0o644, ""); err != nil {
			return "", err
		}
		changed = changed || other
	}
	names, _ := filepath.Glob(m.path(filepath.Join(sshDir, "ssh_host_*_key"))) // the pattern is sound
	for _, path := range names {
		if _, ok := private[filepath.Base(path)]; ok {
			continue
		}
		if err := os.Remove(path); err != nil {
			return "", err
		}
		_ = os.Remove(path + ".pub") // some have none
		changed = true
	}
	if !changed {
		return "the pool's already", nil
	}
	return "the pool's", m.reloadSSH(ctx)
}

// reloadSSH has an sshd that runs read its keys again.
func (m Machine) reloadSSH(ctx context.Context) error {
	pid, err := m.Read("/run/sshd.pid")
	if pid = strings.TrimSpace(pid); err != nil || pid == "" || slices.Contains([]string{"0", "1"}, pid) {
		return err // none runs: the next one reads them
	}
	if _, err := os.Stat(m.path("/proc/" + pid)); err != nil {
		return nil
	}
	_, err = m.Command(ctx, "kill", "-HUP", pid)
	return err
}
