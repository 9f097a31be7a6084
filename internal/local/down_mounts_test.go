package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/say/step"
	"github.com/muster-hpc/muster/internal/sys/thread"
)

func TestInTheWay(t *testing.T) {
	const dir = "/h/u"
	all := []string{"/h/u", "/h/u/shared/fsx2/bm", "/h/u/s3", "/h/u/log/x", "/h/u/sharedx"}
	for _, row := range []struct {
		name       string
		deleteData bool
		want       []string
	}{
		{"where_data_goes_all_are", true, []string{"/h/u/shared/fsx2/bm", "/h/u/s3", "/h/u/log/x", "/h/u/sharedx"}},
		{"where_data_stays_so_do_those_in_it", false, []string{"/h/u/log/x", "/h/u/sharedx"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if diff := cmp.Diff(row.want, inTheWay(all, dir, row.deleteData)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// victims is a run directory, and files outside of it that must live.
type victims struct {
	ref          Ref
	dir, outside string
}

func newVictims(t *testing.T) victims {
	asRoot(t)
	home, outside := t.TempDir(), t.TempDir()
	v := victims{ref: Ref{Home: home, Name: "u"}, dir: filepath.Join(home, "u"), outside: outside}
	for path, text := range map[string]string{
		v.dir + "/cluster.json": "{}", v.dir + "/shared/fsx2/bm/inner": "", v.dir + "/log/old/x": "", v.dir + "/etc/x": "",
		outside + "/keep": "precious", outside + "/deep/keep": "precious",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, v.dir+"/shared/fsx2/link"); err != nil {
		t.Fatal(err)
	}
	return v
}

// silent is told and says nothing.
type silent struct{}

func (silent) Begin(string)                          {}
func (silent) Waiting(string, string, time.Duration) {}
func (silent) Note(string)                           {}
func (silent) Done(step.Step)                        {}

// mounted runs f where the outside is mounted at a place of the run directory, in a
// mount namespace of its own.
func (v victims) mounted(t *testing.T, at string, f func() error) {
	t.Helper()
	err := thread.Do(unix.CLONE_NEWNS, func() error {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return err
		}
		if err := unix.Mount(v.outside, filepath.Join(v.dir, at), "", unix.MS_BIND, ""); err != nil {
			return err
		}
		return f()
	})
	if err != nil {
		t.Error(err)
	}
	for _, name := range []string{"keep", "deep/keep"} {
		if text, err := os.ReadFile(filepath.Join(v.outside, name)); string(text) != "precious" {
			t.Errorf("%s outside of the run directory: %q, %v", name, text, err)
		}
	}
}

func TestDown_refuses_mounts(t *testing.T) {
	for _, row := range []struct {
		name, at   string
		deleteData bool
	}{
		{"among_data_that_goes", "shared/fsx2/bm", true},
		{"among_logs", "log/old", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := newVictims(t)
			v.mounted(t, row.at, func() error {
				_, err := Down(t.Context(), DownOptions{Ref: v.ref, DeleteData: row.deleteData, Report: silent{}})
				if want := "\n  umount " + v.dir + "/" + row.at; err == nil || !strings.HasSuffix(err.Error(), want) {
					return fmt.Errorf("got %v, want something with %q", err, want)
				}
				for _, file := range []string{"cluster.json", "etc/x"} {
					if _, err := os.Stat(filepath.Join(v.dir, file)); err != nil {
						return fmt.Errorf("it was touched: %w", err)
					}
				}
				return nil
			})
		})
	}
}

// TestDown_keeps_mounts_with_the_data takes a cluster down that has an empty file
// system of the user's among its data.
func TestDown_keeps_mounts_with_the_data(t *testing.T) {
	v := newVictims(t)
	if err := os.RemoveAll(v.dir + "/shared/fsx2/bm/inner"); err != nil {
		t.Fatal(err)
	}
	v.mounted(t, "shared/fsx2/bm", func() error {
		steps, err := Down(t.Context(), DownOptions{Ref: v.ref, Report: silent{}})
		if err != nil {
			return fmt.Errorf("after %v: %w", steps, err)
		}
		if _, err := os.Stat(v.dir + "/etc"); err == nil {
			return errors.New("what is not data is left")
		}
		_, err = os.Stat(v.dir + "/shared/fsx2/bm/keep")
		return err
	})
}

// TestRemove_leaves_what_others_put_there: as long as data is kept.
func TestRemove_leaves_what_others_put_there(t *testing.T) {
	l := Ref{Home: t.TempDir(), Name: "u"}.Layout()
	must(t, makeDirectories(l, owners{}), os.WriteFile(l.Path("notes"), []byte("mine"), 0o644), os.WriteFile(l.Path("log", "x"), nil, 0o644),
		os.WriteFile(l.Path(".mine"), nil, 0o644), os.WriteFile(l.Path(".cluster.json-12"), nil, 0o644))
	if detail, err := remove(l, false); err != nil || detail != "kept the data in "+l.Dir {
		t.Errorf("%q, %v", detail, err)
	}
	left, err := os.ReadDir(l.Dir)
	if err != nil || len(left) != 3 || left[0].Name() != ".mine" || left[1].Name() != markFile || left[2].Name() != "notes" {
		t.Errorf("left: %v, %v", left, err)
	}
	if detail, err := remove(l, true); err != nil || detail != "removed "+l.Dir {
		t.Errorf("%q, %v", detail, err)
	}
}

// TestSweep_enters_no_mount deletes a directory in which something is mounted that
// nobody looked for: as if it appeared at that moment.
func TestSweep_enters_no_mount(t *testing.T) {
	v := newVictims(t)
	v.mounted(t, "shared/fsx2/bm", func() error {
		dir, err := os.Open(v.dir)
		if err != nil {
			return err
		}
		defer dir.Close()
		err = sweep(dir, "shared")
		if want := "something is mounted there; `umount " + v.dir + "/shared/fsx2/bm`, then `muster down` again"; err == nil || !strings.Contains(err.Error(), want) {
			return fmt.Errorf("got %v, want something with %q", err, want)
		}
		return nil
	})
}

func TestSweep(t *testing.T) {
	v := newVictims(t)
	dir, err := os.Open(v.ref.Home)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for range 2 { // what is not there is no error
		if err := sweep(dir, "u"); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(v.dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("it is left: %v", err)
		}
	}
	if _, err := os.Stat(v.outside + "/keep"); err != nil {
		t.Errorf("a link was followed: %v", err)
	}
}
