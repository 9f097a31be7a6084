package boot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"
)

// ClusterKey gives a user a key of SSH for the cluster's machines, which show the same
// homes. A user who has a key keeps it.
func (m Machine) ClusterKey(ctx context.Context, name string) (string, error) {
	u, err := user.Lookup(name)
	if errors.As(err, new(user.UnknownUserError)) {
		return "no key for SSH between machines: there is no user " + name, nil
	}
	if err != nil {
		return "", err
	}
	dir := filepath.Join(u.HomeDir, ".ssh")
	for _, old := range []string{"id_ed25519", "id_rsa", "id_ecdsa"} {
		if _, err := os.Stat(m.path(filepath.Join(dir, old))); err == nil {
			return name + " has a key for SSH between machines", nil
		}
	}
	if m.find("ssh-keygen") == "" {
		return "no key for SSH between machines: this image has no ssh-keygen", nil
	}
	if err := m.Directory(dir, 0o700, name); err != nil {
		return "", err
	}
	// Made beside, and given its name last: half a key is none.
	half, key := m.path(filepath.Join(dir, "id_ed25519.new")), m.path(filepath.Join(dir, "id_ed25519"))
	for _, old := range []string{half, half + ".pub"} {
		if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	if _, err := m.Command(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name+"@muster", "-f", half); err != nil {
		return "", err
	}
	if err := m.authorize(filepath.Join(dir, "authorized_keys"), half+".pub", name); err != nil {
		return "", fmt.Errorf("authorize %s's key: %w", name, err)
	}
	err = errors.Join(give(half, name, 0o600), give(half+".pub", name, 0o644))
	if err == nil {
		err = errors.Join(os.Rename(half+".pub", key+".pub"), os.Rename(half, key))
	}
	return name + " has a new key for SSH between machines", err
}

// authorize adds a public key to those that may log in as the user.
func (m Machine) authorize(list, public, owner string) error {
	key, err := os.ReadFile(public)
	if err != nil {
		return err
	}
	old, err := m.Read(list)
	if err != nil {
		return err
	}
	if old != "" && !strings.HasSuffix(old, "\n") {
		old += "\n"
	}
	_, err = m.Write(list, old+string(key), 0o600, owner)
	return err
}
