package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseRelease(t *testing.T) {
	got := parseRelease("PRETTY_NAME=\"Ubuntu 24.04.1 LTS\"\nID=ubuntu\nID_LIKE='debian other'\nBROKEN\n")
	want := Release{ID: "ubuntu", Name: "Ubuntu 24.04.1 LTS", Like: []string{"debian", "other"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParsePolicy(t *testing.T) {
	const policy = `munge:
  Installed: (none)
  Candidate: 0.5.15-2+deb12u1
  Version table:
     0.5.15-2+deb12u1 500
        500 http://mirror.example/debian bookworm/main amd64 Packages
slurmd:
  Installed: (none)
  Candidate: (none)
  Version table:
`
	if diff := cmp.Diff(map[string]bool{"munge": true}, parsePolicy(policy)); diff != "" {
		t.Error(diff)
	}
}

func TestHalfInstalled(t *testing.T) {
	got := halfInstalled("munge half-configured\nslurmd installed\nslurmctld unpacked\nslurmdbd config-files\nslurmrestd not-installed\n")
	if diff := cmp.Diff([]string{"munge", "slurmctld"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestFreeMemory(t *testing.T) {
	got, err := freeMemory("MemTotal:  100 kB\nMemAvailable:    2048 kB\n")
	if err != nil || got != 2<<20 {
		t.Errorf("got %d, %v", got, err)
	}
	for _, text := range []string{"", "MemAvailable: many kB\n", "MemFree: 1 kB"} {
		if got, err := freeMemory(text); err == nil {
			t.Errorf("%q has %d bytes free", text, got)
		}
	}
}

// tree writes files below a new folder and returns it.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestRunningDaemons(t *testing.T) {
	proc := tree(t, map[string]string{"1/comm": "systemd\n", "7/comm": "munged\n", "8/comm": "munged\n", "9/comm": "mariadbd\n", "10/comm": "slurmd\n",
		"11/comm": "slurmdbd\n", "11/status": "Pid:\t11\nNSpid:\t11\t2\n", "9/status": "NSpid:\t9\n", "self/status": "NSpid:\t5\n"})
	for pid, ns := range map[string]string{"self": "mnt:[1]", "7": "mnt:[1]", "10": "mnt:[2]"} {
		if err := os.MkdirAll(filepath.Join(proc, pid, "ns"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(ns, filepath.Join(proc, pid, "ns/mnt")); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"mariadbd", "munged"}, runningDaemons(proc)); diff != "" {
		t.Error(diff)
	}
}

func TestEnabledUnits(t *testing.T) {
	etc := tree(t, map[string]string{
		"systemd/system/multi-user.target.wants/munge.service": "", "rc3.d/S01slurmd": "", "rc3.d/K01slurmctld": "", "rc0.d/K01munge": "",
	})
	if diff := cmp.Diff([]string{"munge", "slurmd"}, enabledUnits(etc)); diff != "" {
		t.Error(diff)
	}
}

func TestMatches(t *testing.T) {
	root := tree(t, map[string]string{"lib/x86_64-linux-gnu/slurm-wlm/auth_munge.so": ""})
	cases := map[string]bool{
		root + "/{lib/*/slurm-wlm,lib64/slurm}/auth_munge.so": true,
		root + "/{lib64/slurm}/auth_munge.so":                 false,
		root + "/lib/*/*/auth_munge.so":                       true,
		root + "/lib/absent":                                  false,
	}
	for pattern, want := range cases {
		if got := matches(pattern); got != want {
			t.Errorf("matches(%q) = %v", pattern, got)
		}
	}
}

func TestLook(t *testing.T) {
	facts, err := look(t.Context(), Options{StateDir: filepath.Join(t.TempDir(), "not", "there"), Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if facts.System != "linux" || facts.FreeMemory <= 0 || facts.FreeDisk <= 0 || facts.Cores < 1 {
		t.Errorf("%+v", facts)
	}
	if facts.Namespaces.Worked == (facts.Namespaces.Said != "") || facts.Overlay.Worked == (facts.Overlay.Said != "") {
		t.Errorf("trials %+v, %+v", facts.Namespaces, facts.Overlay)
	}
}

// TestTrialsLeaveNothing compares this process's mounts before and after.
func TestTrialsLeaveNothing(t *testing.T) {
	before := readText("/proc/self/mountinfo")
	_, _ = tryNamespaces(t.Context()), tryOverlay(t.Context())
	if after := readText("/proc/self/mountinfo"); after != before {
		t.Errorf("mounts were\n%s\nand are\n%s", before, after)
	}
}

func TestLookEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := look(ctx, Options{}); err == nil || err.Error() != "enough" {
		t.Errorf("got %v", err)
	}
}

func TestOutputSaysWhy(t *testing.T) {
	_, err := output(t.Context(), "/bin/sh", "-c", "echo first words >&2; echo more >&2; exit 3")
	if err == nil || err.Error() != "sh: first words" {
		t.Errorf("got %v", err)
	}
	if _, err := output(t.Context(), "/bin/sh", "-c", "exit 3"); err == nil || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %v", err)
	}
}
