package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/local"
)

// tree are the names of all files below a directory.
func tree(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		names = append(names, path)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return names
}

// TestCheckFolder gives the demo what earlier ones and users may have left in its place. It
// takes it, or says why not and changes nothing.
func TestCheckFolder(t *testing.T) {
	write := func(name, text string) func(dir string) error {
		return func(dir string) error { return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600) }
	}
	files := func(dir string) error { return writeFiles(dir, false) }
	whole := func(dir string) error {
		return errors.Join(writeFiles(dir, true), writeProgram(filepath.Join(dir, "program")), write("root.tar", "tar")(dir),
			os.MkdirAll(filepath.Join(dir, "mmdebstrap.Ab12", "etc"), 0o755), write("mmdebstrap.Ab12/etc/passwd", "root")(dir))
	}
	const changed = ", which is no file of the demo, or was changed; move the folder away or delete it"
	cases := map[string]struct {
		left    []func(dir string) error
		problem string
	}{
		"empty":                 {},
		"killed":                {left: []func(string) error{files, write(markFile, "1\n")}},
		"killed_before_a_file":  {left: []func(string) error{write(markFile, "")}},
		"without_a_mark":        {left: []func(string) error{files}},
		"whole":                 {left: []func(string) error{whole, write(markFile, "1\n")}},
		"cut_off":               {left: []func(string) error{write("cluster.yaml", ""), write(markFile, "1\n")}},
		"a_users_file":          {[]func(string) error{files, write("thesis.tex", "x")}, "thesis.tex" + changed},
		"a_users_file_and_mark": {[]func(string) error{files, write("thesis.tex", "x"), write(markFile, "1\n")}, "thesis.tex" + changed},
		"a_changed_file":        {[]func(string) error{files, write("bytelm.sbatch", "#!/bin/sh\n"), write(markFile, "1\n")}, "bytelm.sbatch" + changed},
		"in_the_program":        {[]func(string) error{whole, write("program/mine.py", "x"), write(markFile, "1\n")}, "program/mine.py" + changed},
		"a_users_directory":     {[]func(string) error{func(dir string) error { return os.Mkdir(filepath.Join(dir, "mine"), 0o755) }}, "mine" + changed},
		"a_link":                {[]func(string) error{func(dir string) error { return os.Symlink("/dev/null", filepath.Join(dir, "cluster.yaml")) }}, "cluster.yaml" + changed},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := folderDemo(t)
			if err := os.Mkdir(d.Dir, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, leave := range c.left {
				if err := leave(d.Dir); err != nil {
					t.Fatal(err)
				}
			}
			before := tree(t, d.Dir)
			err := d.takeFolder()
			if c.problem != "" {
				if want := d.Dir + " has " + c.problem; err == nil || err.Error() != want {
					t.Errorf("got %v, want %s", err, want)
				}
				if diff := cmp.Diff(before, tree(t, d.Dir)); diff != "" {
					t.Errorf("it changed the folder:\n%s", diff)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{d.Dir, filepath.Join(d.Dir, markFile)}, tree(t, d.Dir)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err := errors.Join(writeFiles(d.Dir, true), d.folder.remove()); err != nil {
				t.Error(err)
			}
			if left := tree(t, d.Home); len(left) > 1 {
				t.Errorf("it left %q", left)
			}
		})
	}
}

// folderDemo is a demo in a home without a cluster.
func folderDemo(t *testing.T) *demo {
	t.Helper()
	home := filepath.Join(t.TempDir(), "home")
	d := &demo{Options: Options{Home: home, Dir: filepath.Join(home, "demo-files")}, ref: local.Ref{Home: home, Name: Name}}
	d.layout = d.ref.Layout()
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestFolder_of_a_running_demo is another's as long as that runs, also when its cluster is there.
func TestFolder_of_a_running_demo(t *testing.T) {
	first := folderDemo(t)
	if err := first.takeFolder(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(writeFiles(first.Dir, false), os.MkdirAll(first.layout.Path("shared"), 0o755)); err != nil {
		t.Fatal(err)
	}
	second := &demo{Options: first.Options, ref: first.ref, layout: first.layout}
	before := tree(t, first.Home)
	want := fmt.Sprintf("another demo is running (process %d); wait for it to end", os.Getpid())
	if err := second.takeFolder(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := first.folder.mark.Close(); err != nil { // it was killed
		t.Fatal(err)
	}
	if err := second.takeFolder(); err == nil || !strings.Contains(err.Error(), "has data of an earlier cluster demo") {
		t.Errorf("with the data of a cluster: %v", err)
	}
	if diff := cmp.Diff(before, tree(t, first.Home)); diff != "" {
		t.Errorf("files of a cluster that is there: (-want +got):\n%s", diff)
	}
	if err := os.RemoveAll(first.layout.Dir); err != nil {
		t.Fatal(err)
	}
	if err := second.takeFolder(); err != nil {
		t.Errorf("after the cluster is gone: %v", err)
	}
}

// TestFolder_is_not_left_where_there_is_a_cluster: what a refused demo made goes again.
func TestFolder_is_not_left_where_there_is_a_cluster(t *testing.T) {
	d := folderDemo(t)
	if err := os.MkdirAll(d.layout.Path("shared"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := tree(t, d.Home)
	if err := d.takeFolder(); err == nil {
		t.Error("it took the place of a cluster")
	}
	if diff := cmp.Diff(before, tree(t, d.Home)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFolder_follows_no_link(t *testing.T) {
	d := folderDemo(t)
	elsewhere := t.TempDir()
	if err := errors.Join(writeFiles(elsewhere, false), os.Symlink(elsewhere, d.Dir)); err != nil {
		t.Fatal(err)
	}
	before := tree(t, elsewhere)
	if err := d.takeFolder(); err == nil || !strings.Contains(err.Error(), "is no directory") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(before, tree(t, elsewhere)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
