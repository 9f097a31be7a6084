package clean_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/data/clean"
)

// TestHere deletes what it finds below directories, for a test in a namespace with mounts
// of its own.
func TestHere(t *testing.T) {
	found, errs := sweep(t.Context(), strings.Fields(os.Getenv("CLEAN_TEST_ROOTS")))
	for _, f := range found {
		fmt.Println("deleted", f)
	}
	for _, err := range errs {
		fmt.Println(err)
	}
}

var old = time.Now().Add(-48 * time.Hour)

// rule is that of the command as it is usually called.
func rule() clean.Rule {
	return clean.Rule{Patterns: []string{"*.tmp"}, Before: time.Now().Add(-24 * time.Hour)}
}

// sweep deletes all that is found.
func sweep(ctx context.Context, paths []string) (deleted []string, errs []error) {
	roots, err := clean.Roots(paths, "")
	if err != nil {
		return nil, []error{err}
	}
	for f, err := range clean.Find(ctx, roots, rule(), nil) {
		if err == nil {
			err = f.Delete()
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		deleted = append(deleted, f.Path)
	}
	slices.Sort(deleted)
	return deleted, errs
}

// made writes files that are old.
func made(t *testing.T, paths ...string) {
	t.Helper()
	for _, p := range paths {
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte("x"), 0o600), os.Chtimes(p, old, old)); err != nil {
			t.Fatal(err)
		}
	}
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestMany holds that none is passed over because others are deleted meanwhile.
func TestMany(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 3000 {
		want = append(want, filepath.Join(dir, fmt.Sprint("d", i%3), fmt.Sprintf("%04d.tmp", i)))
	}
	made(t, want...)
	slices.Sort(want)
	got, errs := sweep(t.Context(), []string{dir})
	if errs != nil || !slices.Equal(got, want) {
		t.Errorf("deleted %d of %d, %v", len(got), len(want), errs)
	}
}

// TestDeep holds that a path may be longer than a system call takes.
func TestDeep(t *testing.T) {
	dir := t.TempDir()
	at, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for range 600 {
		name := strings.Repeat("d", 20)
		if err == nil {
			err = unix.Mkdirat(at, name, 0o755)
		}
		if err == nil {
			at, err = unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		}
		defer unix.Close(at)
	}
	var file int
	if err == nil {
		file, err = unix.Openat(at, "x.tmp", unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(file)
	roots, err := clean.Roots([]string{dir}, "")
	if err != nil {
		t.Fatal(err)
	}
	r := clean.Rule{Patterns: []string{"*.tmp"}, Before: time.Now().Add(time.Hour)}
	n := 0
	for f, err := range clean.Find(t.Context(), roots, r, nil) {
		if err != nil || f.Delete() != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1 || unix.Faccessat(at, "x.tmp", unix.F_OK, 0) == nil {
		t.Errorf("found %d", n)
	}
}

// TestReplaced holds what happens to what others replace after it was found.
func TestReplaced(t *testing.T) {
	for _, row := range []struct {
		name    string
		replace func(dir string) error
		stays   string
		changed bool
	}{
		{"by_a_new_file", func(dir string) error {
			return errors.Join(os.WriteFile(dir+"/in/new", []byte("new"), 0o600), os.Rename(dir+"/in/new", dir+"/in/x.tmp"))
		}, "in/x.tmp", true},
		{"by_an_old_file", func(dir string) error {
			return errors.Join(os.WriteFile(dir+"/in/new", []byte("new"), 0o600), os.Chtimes(dir+"/in/new", old, old), os.Rename(dir+"/in/new", dir+"/in/x.tmp"))
		}, "in/x.tmp", true},
		{"written_to", func(dir string) error { return os.WriteFile(dir+"/in/x.tmp", []byte("more"), 0o600) }, "in/x.tmp", true},
		{"by_a_link", func(dir string) error {
			return errors.Join(os.Remove(dir+"/in/x.tmp"), os.Symlink("../out/x.tmp", dir+"/in/x.tmp"))
		}, "in/x.tmp", true},
		{"by_a_directory", func(dir string) error {
			return errors.Join(os.Remove(dir+"/in/x.tmp"), os.Mkdir(dir+"/in/x.tmp", 0o755))
		}, "in/x.tmp", true},
		{"by_nothing", func(dir string) error { return os.Remove(dir + "/in/x.tmp") }, "out/x.tmp", true},
		{"its_directory_by_a_link", func(dir string) error {
			return errors.Join(os.Rename(dir+"/in", dir+"/aside"), os.Symlink("out", dir+"/in"))
		}, "in/x.tmp", false}, // which is that of out by now
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			made(t, dir+"/in/x.tmp", dir+"/out/x.tmp")
			roots, err := clean.Roots([]string{dir + "/in"}, "")
			if err != nil {
				t.Fatal(err)
			}
			for f, err := range clean.Find(t.Context(), roots, rule(), nil) {
				if err = errors.Join(err, row.replace(dir)); err != nil {
					t.Fatal(err)
				}
				if err := f.Delete(); errors.Is(err, clean.ErrChanged) != row.changed || !row.changed && err != nil {
					t.Errorf("got %v", err)
				}
			}
			if !there(dir+"/"+row.stays) || !there(dir+"/out/x.tmp") {
				t.Error("what others put there is gone")
			}
		})
	}
}

// TestRace holds that nothing outside is deleted while directories become links to it
// and back all the time.
func TestRace(t *testing.T) {
	dir := t.TempDir()
	made(t, dir+"/out/x.tmp", dir+"/out/deep/x.tmp")
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		for ctx.Err() == nil {
			_ = os.Rename(dir+"/root/a", dir+"/root/b")
			_ = os.Symlink("../out", dir+"/root/a")
			_ = os.Remove(dir + "/root/a")
			_ = os.Rename(dir+"/root/b", dir+"/root/a")
		}
	})
	deleted := 0
	for range 100 {
		file := dir + "/root/a/deep/x.tmp"
		_ = os.MkdirAll(filepath.Dir(file), 0o755)
		got, _ := sweep(ctx, []string{dir + "/root"})
		deleted += len(got)
	}
	stop()
	group.Wait()
	if !there(dir+"/out/x.tmp") || !there(dir+"/out/deep/x.tmp") {
		t.Errorf("something outside was deleted, of %d", deleted)
	}
}

func TestRoots(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	made(t, dir+"/home/x", dir+"/file")
	if err := errors.Join(os.Symlink("home", dir+"/link"), os.Symlink("nowhere", dir+"/dangling")); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, path, want string }{
		{"all_files", "/", "/ is the root of all files"},
		{"all_files_by_another_name", dir + "/../../../../../../../../..", "/ is the root of all files"},
		{"home", dir + "/home", "is your home directory"},
		{"home_with_a_slash", dir + "/home/", "is your home directory"},
		{"link", dir + "/link", "is a link, and no link is followed; say " + dir + "/home"},
		{"link_with_a_slash", dir + "/link/", "is a link"},
		{"dangling", dir + "/dangling", "leads nowhere"},
		{"file", dir + "/file", "is no directory"},
		{"absent", dir + "/nosuch", "no such file or directory"},
		{"empty", "", "an empty name"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := clean.Roots([]string{dir, row.path}, dir+"/home"); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

// TestRoots_twice holds that a file is found once, whatever of its directories are roots.
func TestRoots_twice(t *testing.T) {
	dir := t.TempDir()
	made(t, dir+"/a/b/x.tmp", dir+"/a/y.tmp")
	got, errs := sweep(t.Context(), []string{dir + "/a/b", dir, dir + "/a/b/.", dir})
	if want := []string{dir + "/a/b/x.tmp", dir + "/a/y.tmp"}; errs != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, errs)
	}
}

// TestRoots_replaced holds that another directory is none that was looked at.
func TestRoots_replaced(t *testing.T) {
	dir := t.TempDir()
	made(t, dir+"/a/x.tmp", dir+"/b/x.tmp")
	roots, err := clean.Roots([]string{dir + "/a"}, "")
	if err = errors.Join(err, os.Rename(dir+"/a", dir+"/c"), os.Rename(dir+"/b", dir+"/a")); err != nil {
		t.Fatal(err)
	}
	for f, err := range clean.Find(t.Context(), roots, rule(), nil) {
		if f != nil || !errors.Is(err, clean.ErrChanged) {
			t.Errorf("got %v, %v", f, err)
		}
	}
}

// TestStopped holds that a walk ends when its context does.
func TestStopped(t *testing.T) {
	dir := t.TempDir()
	made(t, dir+"/x.tmp", dir+"/y.tmp")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	got, errs := sweep(ctx, []string{dir})
	if len(got) != 0 || len(errs) != 1 || !errors.Is(errs[0], context.Canceled) {
		t.Errorf("got %q, %v", got, errs)
	}
}

func TestRule_Check(t *testing.T) {
	for pattern, fine := range map[string]bool{"*.tmp": true, ".nfs*": true, "a?[b-c]": true, "a/*.tmp": false, "/": false, "": false, "[": false} {
		if err := (clean.Rule{Patterns: []string{pattern}}).Check(); (err == nil) != fine {
			t.Errorf("%q: got %v", pattern, err)
		}
	}
}
