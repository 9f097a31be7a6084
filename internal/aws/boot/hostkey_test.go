package boot

import (
	"os"
	"slices"
	"testing"
)

// TestHostKeys: a new machine of a pool shows the pool's keys and none of its own.
func TestHostKeys(t *testing.T) {
	f := &fake{}
	m := machineOf(t, f, "")
	put(t, m, "/etc/ssh/ssh_host_ed25519_key", "its own\n")
	put(t, m, "/etc/ssh/ssh_host_rsa_key", "its own\n")
	put(t, m, "/etc/ssh/ssh_host_rsa_key.pub", "its own\n")
	put(t, m, "/run/sshd.pid", "77\n")
	put(t, m, "/proc/77/stat", "")
	private, public := map[string]string{"ssh_host_ed25519_key": "the pool's\n"}, map[string]string{"ssh_host_ed25519_key": "line"}
	for _, want := range []string{"the pool's", "the pool's already"} {
		if got, err := m.HostKeys(t.Context(), private, public); err != nil || got != want {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if !slices.Equal(f.ran, []string{"kill -HUP 77"}) {
		t.Errorf("ran %q", f.ran)
	}
	for name, want := range map[string]string{"ssh_host_ed25519_key": "the pool's\n", "ssh_host_ed25519_key.pub": "line\n", "ssh_host_rsa_key": "", "ssh_host_rsa_key.pub": ""} {
		if got, err := m.Read("/etc/ssh/" + name); err != nil || got != want {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if info, err := os.Stat(m.path("/etc/ssh/ssh_host_ed25519_key")); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
