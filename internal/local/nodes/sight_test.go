package nodes

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-hpc/muster/internal/local/machine"
)

// TestViewStat holds that a path leads where it leads on the machines, through links and
// mounts, and that nothing is taken for missing that they have for themselves.
func TestViewStat(t *testing.T) {
	host := t.TempDir()
	for _, dir := range []string{"fsx/releases/1", "home/ada", "data"} {
		if err := os.MkdirAll(filepath.Join(host, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"fsx/current": "/fsx/releases/1", "fsx/near": "releases/1", "fsx/gone": "/fsx/releases/2", "fsx/loop": "/fsx/loop", "fsx/ones": "/home/ada",
		"fsx/own": "/tmp/x",
	} {
		if err := os.Symlink(to, filepath.Join(host, link)); err != nil {
			t.Fatal(err)
		}
	}
	v := View{
		Record: Record{
			Shared:      []Mount{{Source: host + "/fsx", Target: "/fsx"}, {Source: host + "/home", Target: "/home"}, {Source: host + "/data", Target: "/nosuch/deep/data"}},
			ScratchDirs: []string{"/scratch"},
		},
		Mounts: []string{"/opt/nfs"},
	}
	const there, gone, unknown = "there", "gone", "unknown"
	for path, want := range map[string]string{
		"/usr/bin/env":       there,
		"/bin/sh":            there,
		"/usr/bin/nosuch":    gone,
		"/fsx":               there,
		"/fsx/releases/1":    there,
		"/fsx/current":       there,
		"/fsx/near":          there,
		"/fsx/ones":          there,
		"/fsx/gone":          gone,
		"/fsx/current/x":     gone,
		"/fsx/loop":          unknown,
		"/fsx/own":           unknown,
		"/nosuch/deep/data":  there,
		"/nosuch/deep/other": gone,
		"/home/eve":          gone,
		"/tmp/x":             unknown,
		"/run/x":             unknown,
		"/scratch/x":         unknown,
		"/mnt/x":             gone,
		"/opt/nfs/x":         gone,
	} {
		got := there
		if _, err := v.Stat(path); errors.Is(err, fs.ErrNotExist) {
			got = gone
		} else if err != nil {
			got = unknown
		}
		if got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// TestViewStat_own: a file that machines have of their own is there, though the host has none.
func TestViewStat_own(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/usr/bin/muster-nosuch", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	v := View{Record: Record{
		Shared: []Mount{{Source: dir, Target: "/fsx"}},
		Files:  []machine.File{{Path: "/usr/bin/muster-nosuch", Text: "#!/bin/sh\n", Mode: 0o755}},
	}}
	for _, path := range []string{"/usr/bin/muster-nosuch", "/fsx/link"} {
		info, err := v.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Mode().Perm() != 0o755 || info.Name() != "muster-nosuch" || info.Size() != 10 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	if _, err := v.Stat("/usr/bin/muster-nosuch2"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another file: %v", err)
	}
}
