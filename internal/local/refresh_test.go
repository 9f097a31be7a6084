package local

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestStamp(t *testing.T) {
	env := t.TempDir()
	packages := filepath.Join(env, "lib", "python3.11", "site-packages")
	for _, d := range []string{"bin", "conda-meta"} {
		if err := os.Mkdir(filepath.Join(env, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(packages, 0o755); err != nil {
		t.Fatal(err)
	}
	path := t.TempDir()
	environ := []string{"VIRTUAL_ENV=" + env, "PATH=" + path + ":/nothing/here:["}
	dirs := InstalledIn(environ)
	for _, d := range []string{filepath.Join(env, "bin"), filepath.Join(env, "conda-meta"), packages, path, "/usr/bin"} {
		if !slices.Contains(dirs, d) {
			t.Errorf("%s is not looked at", d)
		}
	}
	last := Stamp(InstalledIn(environ))
	if again := Stamp(InstalledIn(environ)); again != last {
		t.Error("it changes by itself")
	}
	for _, d := range []string{filepath.Join(env, "bin"), packages, path} {
		if err := os.WriteFile(filepath.Join(d, "new"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if now := Stamp(InstalledIn(environ)); now == last {
			t.Errorf("what comes into %s is not seen", d)
		} else {
			last = now
		}
	}
}
