package own_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/sys/own"
)

func TestGive(t *testing.T) {
	dir := t.TempDir()
	file, link, pipe := filepath.Join(dir, "file"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	must(t, os.WriteFile(file, nil, 0o600))
	must(t, os.Symlink(file, link))
	must(t, unix.Mkfifo(pipe, 0o600))
	for _, row := range []struct {
		name, path, owner string
		mode              fs.FileMode
		ok                bool
	}{
		{"a_file", file, "", 0o640, true},
		{"a_directory", dir, "", 0o710 | fs.ModeDir | fs.ModeSticky, true},
		{"a_link", link, "", 0o666, false},
		{"a_pipe", pipe, "", 0o666, false},
		{"no_directory", file, "", 0o777 | fs.ModeDir, false},
		{"nobody", file, "no-such-user", 0o666, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if err := own.Give(row.path, row.owner, row.mode); (err == nil) != row.ok {
				t.Fatal(err)
			}
			if info, err := os.Lstat(row.path); err != nil || row.ok && info.Mode() != row.mode {
				t.Errorf("the mode is %v, want %v: %v", info.Mode(), row.mode, err)
			}
			if info, err := os.Stat(file); err != nil || info.Mode() != 0o640 {
				t.Errorf("the file's mode is %v: %v", info.Mode(), err)
			}
		})
	}
}
