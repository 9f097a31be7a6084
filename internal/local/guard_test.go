package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/local/nodes"
)

// stranger is another user of the machine.
const stranger = 65534

// asRoot skips a test that has to mount, or to give files to others. In CI it fails.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() == 0 {
		return
	}
	if os.Getenv("MUSTER_CI") != "" {
		t.Fatal("it must be root's")
	}
	t.Skip("needs root, who can mount and give files to others")
}

// must fails the test for an error.
func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestRef_Guard: what another user could have made, or can change, is refused before
// anything in it is used.
func TestRef_Guard(t *testing.T) {
	asRoot(t)
	for name, row := range map[string]struct {
		make func(home, dir string) error
		want string // HOME and DIR stand for the two; empty is no error
	}{
		"nothing_yet": {func(string, string) error { return nil }, ""},
		"own":         {func(_, dir string) error { return os.Mkdir(dir, 0o755) }, ""},
		"own_in_a_sticky": {func(home, dir string) error {
			return errors.Join(os.Chmod(home, 0o777|os.ModeSticky), os.Mkdir(dir, 0o755))
		}, ""},
		"home_of_another": {func(home, _ string) error { return os.Chown(home, stranger, stranger) }, "HOME belongs to user nobody; let MUSTER_HOME name a folder of your own"},
		"home_of_all":     {func(home, _ string) error { return os.Chmod(home, 0o777) }, "others may change HOME, whose mode is 0777; let MUSTER_HOME name a folder of your own"},
		"home_of_a_group": {func(home, _ string) error { return errors.Join(os.Chown(home, 0, stranger), os.Chmod(home, 0o775)) }, "others may change HOME, whose mode is 0775; let MUSTER_HOME name a folder of your own"},
		"another's":       {func(_, dir string) error { return errors.Join(os.Mkdir(dir, 0o755), os.Chown(dir, stranger, stranger)) }, "cluster t is not yours: DIR belongs to user nobody"},
		"open_to_all":     {func(_, dir string) error { return errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o777)) }, "cluster t is not yours: others may change DIR, whose mode is 0777"},
		"a_link":          {func(home, dir string) error { return os.Symlink(home, dir) }, "DIR is no directory of a cluster; remove it, or let MUSTER_HOME name another folder"},
		"a_project": {func(_, dir string) error {
			return errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(dir+"/main.c", nil, 0o644))
		}, `DIR is no directory of a cluster: it has "main.c"; choose another name with --cluster, or let MUSTER_HOME name another folder`},
		"kept_data": {func(_, dir string) error { return os.MkdirAll(dir+"/shared/fsx1", 0o755) }, ""},
		"half_made": {func(_, dir string) error {
			return errors.Join(os.MkdirAll(dir+"/log", 0o755), os.WriteFile(dir+"/.muster", nil, 0o644))
		}, ""},
		"a_lock_that_is_a_link": {func(home, dir string) error { return os.Symlink(filepath.Join(home, "victim"), dir+".lock") }, "open DIR.lock: it is a link, and none is followed here"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Ref{Home: t.TempDir(), Name: "t"}
			must(t, row.make(r.Home, r.Layout().Dir))
			unlock, err := r.lock()
			if err == nil {
				unlock()
			}
			want := strings.NewReplacer("MUSTER_HOME", "MUSTER_HOME", "HOME", r.Home, "DIR", r.Layout().Dir).Replace(row.want)
			if got := text(err); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if _, err := os.Lstat(filepath.Join(r.Home, "victim")); err == nil {
				t.Error("a file was made through a link")
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestMakeDirectories_follows_no_link: what a link leads to keeps its mode.
func TestMakeDirectories_follows_no_link(t *testing.T) {
	l, victim := &nodes.Layout{Dir: filepath.Join(t.TempDir(), "run"), Rootless: true, UID: os.Getuid()}, t.TempDir()
	must(t, os.Chmod(victim, 0o755), os.Mkdir(l.Dir, 0o755), os.Symlink(victim, l.Path("s3")))
	if err := makeDirectories(l, owners{}); err == nil {
		t.Error("it went through a link")
	}
	if info, err := os.Stat(victim); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("what the link leads to: %v, %v", info.Mode(), err)
	}
	must(t, os.Remove(l.Path("s3")))
	for range 2 {
		must(t, makeDirectories(l, owners{}))
	}
	for path, want := range map[string]os.FileMode{".": 0o711, "s3": 0o700, "shared": 0o700, "nodes": 0o700, "etc": 0o700, "etc/slurm": 0o755, "log": 0o700} {
		if info, err := os.Stat(l.Path(path)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %s", path, info.Mode(), err, want)
		}
	}
}

// TestFile_write_follows_no_link: neither what is read nor what is written.
func TestFile_write_follows_no_link(t *testing.T) {
	l, victim := &nodes.Layout{Dir: t.TempDir()}, filepath.Join(t.TempDir(), "victim")
	must(t, os.WriteFile(victim, []byte("x"), 0o640), os.Symlink(victim, l.Path("f")))
	for name, f := range map[string]file{"new": {text: "y"}, "equal": {text: "x"}, "in_place": {text: "y", inPlace: true}, "once": {text: "y", once: true}} {
		f.path, f.mode = "f", 0o666
		if _, err := f.write(l); err == nil {
			t.Errorf("%s: a link was taken for the file", name)
		}
		text, err := os.ReadFile(victim)
		info, statErr := os.Stat(victim)
		must(t, err, statErr)
		if string(text) != "x" || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: what the link leads to is %q, %s", name, text, info.Mode())
		}
	}
}

// TestMakeShared_stays_inside: a job put a link where a directory is to be made.
func TestMakeShared_stays_inside(t *testing.T) {
	top, victim := t.TempDir(), t.TempDir()
	must(t, os.Chmod(victim, 0o755), os.Symlink(victim, filepath.Join(top, "out")), os.Symlink(victim, filepath.Join(top, "containers")))
	for _, rest := range []string{"/out", "/out/below"} {
		if err := makeShared(top, rest, 0o777); err == nil {
			t.Errorf("%s: it left the file system", rest)
		}
	}
	if err := makeImageDir(top); err == nil {
		t.Error("images: it left the file system")
	}
	must(t, makeShared(top, "/a/b", 0o777|os.ModeSticky))
	info, err := os.Stat(victim)
	entries, listErr := os.ReadDir(victim)
	must(t, err, listErr)
	if info.Mode().Perm() != 0o755 || len(entries) != 0 {
		t.Errorf("what the links lead to: %s, %v", info.Mode(), entries)
	}
}
