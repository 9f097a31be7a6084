package boot

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
)

func TestClusterKey(t *testing.T) {
	if _, err := exec.LookPath("ssh-keygen"); err != nil {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal("no ssh-keygen")
		}
		t.Skip("no ssh-keygen")
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	m := Machine{Root: t.TempDir()}
	dir := filepath.Join(me.HomeDir, ".ssh")
	if _, err := m.Write(filepath.Join(dir, "authorized_keys"), "ssh-rsa AAAA laptop", 0o600, ""); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{me.Username + " has a new key for SSH between machines", me.Username + " has a key for SSH between machines"} {
		if got, err := m.ClusterKey(t.Context(), me.Username); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	list, err := m.Read(filepath.Join(dir, "authorized_keys"))
	public, _ := m.Read(filepath.Join(dir, "id_ed25519.pub"))
	if err != nil || list != "ssh-rsa AAAA laptop\n"+public || !strings.HasPrefix(public, "ssh-ed25519 ") {
		t.Errorf("authorized keys are %q, %v", list, err)
	}
	if info, err := os.Stat(m.path(filepath.Join(dir, "id_ed25519"))); err != nil || info.Mode() != 0o600 {
		t.Errorf("the key is %v, %v", info, err)
	}
	if got, err := m.ClusterKey(t.Context(), "no-such-user"); err != nil || !strings.Contains(got, "no user no-such-user") {
		t.Errorf("got %q, %v", got, err)
	}
}
