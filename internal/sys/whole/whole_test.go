package whole_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
