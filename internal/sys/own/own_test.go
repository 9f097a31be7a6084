package own_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/sys/own"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// taken are ways to take the name of another's directory or file.
var taken = map[string]func(path, elsewhere string) error{
	"link":             func(path, elsewhere string) error { return os.Symlink(elsewhere, path) },
	"link_to_nothing":  func(path, elsewhere string) error { return os.Symlink(elsewhere+"/none", path) },
	"pipe":             func(path, _ string) error { return unix.Mkfifo(path, 0o666) },
	"writable_for_all": func(path, _ string) error { return firstError(os.Mkdir(path, 0o777), os.Chmod(path, 0o777)) },
	"file":             func(path, _ string) error { return os.WriteFile(path, nil, 0o644) },
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestMake: whatever has the name, the user gets a directory of his own, and the same
// one again.
func TestMake(t *testing.T) {
	uid := os.Geteuid()
	for name, take := range taken {
		t.Run(name, func(t *testing.T) {
			parent, elsewhere := t.TempDir(), t.TempDir()
			must(t, take(filepath.Join(parent, ".x"), elsewhere))
			dir, err := own.Make(parent, ".x", uid)
			must(t, err)
			must(t, own.Check(dir, uid))
			if own.Name(dir) != ".x" || filepath.Dir(dir) != parent {
				t.Errorf("got %s", dir)
			}
			again, err := own.Make(parent, ".x", uid)
			if err != nil || again != dir || own.Find(parent, ".x", uid) != dir {
				t.Errorf("got %s, %v, want %s again", again, err, dir)
			}
			if left, _ := os.ReadDir(elsewhere); len(left) != 0 {
				t.Errorf("the link was followed: %v", left)
			}
		})
	}
	parent := t.TempDir()
	if got := own.Find(parent, ".x", uid); got != "" {
		t.Errorf("found %s", got)
	}
	dir, err := own.Make(parent, ".x", uid)
	if err != nil || dir != filepath.Join(parent, ".x") {
		t.Errorf("got %s, %v", dir, err)
	}
	if got := own.Find(parent, ".x", uid+1); got != "" {
		t.Errorf("%s is another user's", got)
	}
}

// TestFind: a directory that was made beside another's is found, and no second one made,
// when that one has gone.
func TestFind(t *testing.T) {
	uid := os.Geteuid()
	for name, take := range taken {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			plain := filepath.Join(parent, ".x")
			must(t, take(plain, t.TempDir()))
			dir, err := own.Make(parent, ".x", uid)
			must(t, err)
			must(t, os.Remove(plain))
			if got := own.Find(parent, ".x", uid); got != dir {
				t.Errorf("found %q, want %s", got, dir)
			}
			if again, err := own.Make(parent, ".x", uid); err != nil || again != dir {
				t.Errorf("got %s, %v, want %s again", again, err, dir)
			}
		})
	}
}

func TestOpen(t *testing.T) {
	for name, take := range taken {
		if name == "file" {
			continue // a file is what it is to be
		}
		t.Run(name, func(t *testing.T) {
			parent, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "made")
			path := filepath.Join(parent, "x")
			must(t, take(path, elsewhere))
			if f, err := own.Open(path); err == nil {
				f.Close()
				t.Error("it was opened")
			}
			if _, err := os.Lstat(elsewhere); err == nil {
				t.Error("the link was followed")
			}
		})
	}
	path := filepath.Join(t.TempDir(), "x")
	for range 2 {
		f, err := own.Open(path)
		must(t, err)
		f.Close()
	}
	must(t, os.Chmod(path, 0o644)) // as an older muster made it
	f, err := own.Open(path)
	must(t, err)
	f.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || !own.Mine(path) {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	if os.Geteuid() == 0 {
		must(t, os.Chown(path, 1, 1))
		if f, err := own.Open(path); err == nil || own.Mine(path) {
			f.Close()
			t.Error("a file of another user's was opened")
		}
	}
}

func TestWay(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	must(t, os.Symlink(dir, link))
	must(t, own.Way(filepath.Join(link, "none", "at", "all")))
	if os.Geteuid() != 0 {
		return // only root can make another's link
	}
	must(t, os.Lchown(link, 1, 1))
	if err := own.Way(filepath.Join(link, "x")); err == nil || !strings.Contains(err.Error(), link+" is a link of user 1") {
		t.Errorf("got %v", err)
	}
}
