package boot

import (
	"context"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path"
	"slices"
	"strings"
)

// Export lets the machines of the networks mount directories of this one by NFS.
func (m Machine) Export(ctx context.Context, dirs []string, networks []netip.Prefix) (string, error) {
	if len(dirs) == 0 {
		return "nothing to export", nil
	}
	if m.find("exportfs") == "" {
		return "", fmt.Errorf("export %s: this image has no exportfs", strings.Join(dirs, ", "))
	}
	old, err := m.Read("/etc/exports")
	if err != nil {
		return "", err
	}
	if _, err := m.Write("/etc/exports", exports(old, dirs, networks), 0o644, ""); err != nil {
		return "", err
	}
	if m.Systemd() {
		if _, err := m.Write(nfsConf, nfsVersions, 0o644, ""); err != nil {
			return "", err
		}
		// Ubuntu's nfs-kernel-server answers to this name, too.
		if _, err := m.Command(ctx, "systemctl", "enable", "--now", "nfs-server"); err != nil {
			return "", err
		}
		if err := m.serveMore(ctx); err != nil {
			return "", err
		}
	}
	if _, err := m.Command(ctx, "exportfs", "-ra"); err != nil {
		return "", err
	}
	to := "all who reach it"
	if len(networks) > 0 {
		to = fmt.Sprint(networks)
	}
	return strings.Join(dirs, ", ") + " to " + to, nil
}

// nfsConf has the server speak version 4 alone, as all of the cluster's machines do. One
// that knows version 3 wants a port for locks: the images name 32768, which any program
// may have taken, and then the server does not start.
//
// https://github.com/aws/aws-parallelcluster/issues/6949
const (
	nfsConf     = "/etc/nfs.conf.d/muster.conf"
	nfsVersions = "# Written by muster.\n[nfsd]\nvers3=n\n"
)

// exports is /etc/exports with our directories.
func exports(old string, dirs []string, networks []netip.Prefix) string {
	clients := []string{"*"}
	if len(networks) > 0 {
		clients = nil
		for _, n := range networks {
			clients = append(clients, n.String())
		}
	}
	var b strings.Builder
	b.WriteString(aboveOurs(old))
	for _, d := range slices.Sorted(slices.Values(dirs)) {
		b.WriteString(d)
		for _, c := range clients {
			b.WriteString(" " + c + "(rw,sync,no_root_squash,no_subtree_check)")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Shared makes a directory on shared storage with a mode and an owner, its parents with
// the same where they are missing.
func (m Machine) Shared(dir string, mode uint32, owner string) error {
	var missing []string
	for at := dir; ; at = path.Dir(at) {
		if _, err := os.Stat(m.path(at)); err == nil || at == "/" {
			break
		}
		missing = append(missing, at)
	}
	slices.Reverse(missing)
	for _, at := range missing {
		if err := os.Mkdir(m.path(at), 0o755); err != nil {
			return err
		}
		if err := give(m.path(at), owner, fileMode(mode)|fs.ModeDir); err != nil {
			return err
		}
	}
	return give(m.path(dir), "", fileMode(mode))
}

// fileMode is a mode as chmod(1) writes it in Go's bits.
func fileMode(bits uint32) fs.FileMode {
	mode := fs.FileMode(bits).Perm()
	for bit, special := range map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if bits&bit != 0 {
			mode |= special
		}
	}
	return mode
}
