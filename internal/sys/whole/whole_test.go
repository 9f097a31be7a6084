package whole_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/muster-hpc/muster/internal/sys/whole"
)

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, row := range []struct {
		text string
		mode fs.FileMode
	}{{"first", 0o644}, {"second, which is longer", 0o600}, {"", 0o755}} {
		if err := whole.Write(path, []byte(row.text), row.mode); err != nil {
			t.Fatal(err)
		}
		holds(t, path, row.text, row.mode)
		alone(t, path)
	}
}

func TestMake_leaves_the_old_file_where_it_fails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := whole.Write(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	why := errors.New("not now")
	err := whole.Make(path, []byte("new"), func(beside *os.File) error {
		holds(t, beside.Name(), "new", 0o600)
		holds(t, path, "old", 0o640)
		return why
	})
	if !errors.Is(err, why) || err.Error() != "write "+path+": not now" {
		t.Errorf("got %v", err)
	}
	holds(t, path, "old", 0o640)
	alone(t, path)
}

func TestWrite_says_which_file(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "file")
	err := whole.Write(path, nil, 0o644)
	if !errors.Is(err, fs.ErrNotExist) || err.Error() != "write "+path+": no such file or directory" {
		t.Errorf("got %v", err)
	}
	dir := filepath.Join(t.TempDir(), "dir")
	if err := os.MkdirAll(filepath.Join(dir, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := whole.Write(dir, nil, 0o644); err == nil {
		t.Error("a directory was replaced")
	}
	alone(t, dir)
}

func holds(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != text {
		t.Errorf("%s holds %q, %v; want %q", path, got, err, text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != mode {
		t.Errorf("the mode is %v, %v; want %v", info.Mode(), err, mode)
	}
}

// alone holds that nothing unfinished is left beside a file.
func alone(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside %s: %v, %v", path, entries, err)
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := whole.Write(path, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := whole.Read(path); string(text) != "text" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := whole.Read(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// A pipe's writer may never come, and a file without an end never ends.
func TestRead_refuses_what_is_no_file_of_ours(t *testing.T) {
	dir := t.TempDir()
	pipe, huge := filepath.Join(dir, "pipe"), filepath.Join(dir, "huge")
	err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.WriteFile(huge, nil, 0o600), os.Truncate(huge, 1<<30))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		pipe:        "it is no ordinary file",
		dir:         "it is no ordinary file",
		"/dev/zero": "it is no ordinary file",
		huge:        "it is far too large",
	} {
		if _, err := whole.Read(path); err == nil || err.Error() != "read "+path+": "+want {
			t.Errorf("%s: %v", path, err)
		}
	}
}
