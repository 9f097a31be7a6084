package agent

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestHostKeys(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"ssh_host_rsa_key.pub": "ssh-rsa AAAAB3 root@ip-10-0-0-5\n", "ssh_host_ed25519_key.pub": "ssh-ed25519 AAAAC3\n",
		"ssh_host_ed25519_key": "secret", "ssh_host_dsa_key.pub": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := hostKeys(dir); !slices.Equal(got, []string{"ssh-ed25519 AAAAC3", "ssh-rsa AAAAB3"}) {
		t.Errorf("got %q", got)
	}
	if got := hostKeys(filepath.Join(dir, "nowhere")); got != nil {
		t.Errorf("a machine without SSH has keys: %q", got)
	}
}
