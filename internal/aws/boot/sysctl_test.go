package boot

import (
	"os"
	"path/filepath"
	"testing"
)

// put writes a file of a machine.
func put(t *testing.T, m Machine, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(m.path(name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(m.path(name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestOpenNamespaces: on Ubuntu 24.04 no user can make a container before.
func TestOpenNamespaces(t *testing.T) {
	const restrict = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
	m := machineOf(t, &fake{}, "")
	put(t, m, restrict, "1\n")
	if detail, err := m.OpenNamespaces(t.Context()); err != nil || detail != "" {
		t.Errorf("a kernel that is another machine's, too: %q, %v", detail, err)
	}
	put(t, m, "/run/systemd/system/x", "")
	for range 2 {
		if _, err := m.OpenNamespaces(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{restrict: "0\n", sysctlFile: "kernel.apparmor_restrict_unprivileged_userns = 0\n"} {
		if got, err := m.Read(name); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
}

func TestSysctl(t *testing.T) {
	m := machineOf(t, &fake{}, "")
	put(t, m, "/run/systemd/system/x", "")
	put(t, m, "/proc/sys/net/core/somaxconn", "4096\n")
	put(t, m, sysctlFile, "net.core.somaxconn = 1\nvm.other = 2\n")
	if had, err := m.sysctl("net.core.somaxconn", "65535"); err != nil || !had {
		t.Error(had, err)
	}
	if had, err := m.sysctl("kernel.yama.ptrace_scope", "0"); err != nil || had {
		t.Errorf("a kernel without it has it: %v, %v", had, err)
	}
	if got, _ := m.Read(sysctlFile); got != "vm.other = 2\nnet.core.somaxconn = 65535\n" {
		t.Errorf("got %q", got)
	}
}
