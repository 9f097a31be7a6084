package spec_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/muster-hpc/muster/internal/spec"
)

func TestNameOf(t *testing.T) {
	for _, row := range []struct{ name, file, want string }{
		{"the_files_own", "/data/train-80.yaml", "train-80"},
		{"other_ending", "/data/train.yml", "train"},
		{"the_folders", "/data/train/cluster.yaml", "train"},
		{"the_folders_again", "/data/train/cluster-config.yaml", "train"},
		{"no_name", "/data/80-nodes.yaml", ""},
		{"no_name_of_a_folder", "/cluster.yaml", ""},
		{"dots", "/data/v1.2.yaml", ""},
		{"a_pipe_of_a_shell", "/dev/fd/63", ""},
		{"the_standard_input", "/dev/stdin", ""},
		{"a_file_of_a_process", "/proc/self/fd/train", ""},
		{"a_file_in_memory", "/dev/shm/train.yaml", "train"},
		{"too_long", "/data/a" + strings.Repeat("b", 40) + ".yaml", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := spec.NameOf(row.file)
			if got != row.want || (err == nil) != (row.want != "") {
				t.Errorf("got %q, %v, want %q", got, err, row.want)
			}
			if err != nil && !strings.HasSuffix(err.Error(), "; give one with --cluster NAME") {
				t.Errorf("%v says nothing to do", err)
			}
		})
	}
}

func TestLasting(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	err := errors.Join(os.WriteFile("file.yaml", nil, 0o600), syscall.Mkfifo("pipe.yaml", 0o600), os.Symlink("pipe.yaml", "link.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"file.yaml":       filepath.Join(dir, "file.yaml"),
		"none.yaml":       filepath.Join(dir, "none.yaml"),
		"pipe.yaml":       "",
		"link.yaml":       "",
		"/dev/fd/63":      "",
		"/dev/stdin":      "",
		"/proc/self/fd/0": "",
	} {
		if got := spec.Lasting(path); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}
