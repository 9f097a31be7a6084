package container

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// TestToSrun: who has typed srun's options reads of them.
func TestToSrun(t *testing.T) {
	for text, want := range map[string]string{
		"ignoring --mounts when attaching":                     "ignoring --container-mounts when attaching",
		`"exec" flag was passed to --name but`:                 `"exec" flag was passed to --container-name but`,
		"--unshare=ipc requested":                              "--container-unshare=ipc requested",
		"both --mount-home and --no-mount-home were specified": "both --container-mount-home and --no-container-mount-home were specified",
		"leave out --entrypoint":                               "leave out --container-entrypoint",
		"--container-mounts, x--mounts, --mountsy":             "--container-mounts, x--mounts, --mountsy",
		"name a directory with --state DIR":                    "name a directory with --state DIR",
	} {
		if got := toSrun(text); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	err := fmt.Errorf("--workdir: %w", &callError{what: "couldn't chdir to /pyxis", errno: unix.ENOENT})
	if got, want := errorToSrun(err), "--container-workdir: couldn't chdir to /pyxis: No such file or directory"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTargetsStayInside(t *testing.T) {
	for target, leaves := range map[string]bool{
		"/a/b": false, "./a": false, "./a/../b": false, "/a/../..": false, "../home": true, "./../home": true, "./a/../..": true, "./a//b/./..": false,
	} {
		if _, err := ParseMounts("/home:" + target); (err != nil) != leaves {
			t.Errorf("%s: got %v", target, err)
		}
	}
}
