package image_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/image"
)

// openForAll is a directory of images where every user may write, and one elsewhere
// with a file that somebody holds dear.
func openForAll(t *testing.T) (dir, elsewhere string) {
	t.Helper()
	dir, elsewhere = t.TempDir(), t.TempDir()
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(elsewhere, "precious.part"), []byte("dear"), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, elsewhere
}

// untouched fails unless there is the dear file alone.
func untouched(t *testing.T, elsewhere string) {
	t.Helper()
	entries, err := os.ReadDir(elsewhere)
	if err != nil || len(entries) != 1 || entries[0].Name() != "precious.part" {
		t.Errorf("a link was followed: %v, %v", entries, err)
	}
}

// traps are what somebody may have put into a directory of all users before another
// imports the image x.
var traps = map[string]func(dir, elsewhere string) error{
	"cache_is_a_link":      func(dir, elsewhere string) error { return os.Symlink(elsewhere, dir+"/.layers") },
	"cache_is_a_file":      func(dir, _ string) error { return os.WriteFile(dir+"/.layers", nil, 0o666) },
	"lock_is_a_link":       func(dir, elsewhere string) error { return os.Symlink(elsewhere+"/made", dir+"/.x.sqsh.lock") },
	"lock_is_a_directory":  func(dir, _ string) error { return os.Mkdir(dir+"/.x.sqsh.lock", 0o755) },
	"leftover_with_a_file": func(dir, _ string) error { return os.MkdirAll(dir+"/x.sqsh.tmp-1/full", 0o755) },
	"image_is_a_link":      func(dir, elsewhere string) error { return os.Symlink(elsewhere+"/precious.part", dir+"/x.sqsh") },
}

// TestTraps: whatever others have put there, an import works and touches nothing
// elsewhere; so do what comes after it.
func TestTraps(t *testing.T) {
	p := newPlace(t)
	uri := p.push(t, "v1", linux(t, layer(t, 1, 1000)))
	for name, set := range traps {
		t.Run(name, func(t *testing.T) {
			dir, elsewhere := openForAll(t)
			if err := set(dir, elsewhere); err != nil {
				t.Fatal(err)
			}
			for round := range 2 {
				done, err := image.Import(t.Context(), options(uri, dir))
				if err != nil || done.Unchanged != (round == 1) {
					t.Fatalf("got %+v, %v", done, err)
				}
			}
			if done, err := image.Prune(t.Context(), image.PruneOptions{Dir: dir, Limit: -1}); err != nil || done.Layers != 1 {
				t.Errorf("got %+v, %v", done, err)
			}
			if err := image.Remove(t.Context(), dir, "x"); err != nil {
				t.Error(err)
			}
			untouched(t, elsewhere)
		})
	}
}

// TestUserDir: nobody keeps a user from a directory of his own by making it first.
func TestUserDir(t *testing.T) {
	p := newPlace(t)
	uri := p.push(t, "v1", linux(t, layer(t, 1, 1000)))
	dir, elsewhere := openForAll(t)
	if err := os.Symlink(elsewhere, filepath.Join(dir, fmt.Sprintf(".user-%d", os.Geteuid()))); err != nil {
		t.Fatal(err)
	}
	for _, got := range nodes(t, 3, task{URI: uri, Dir: userDir(t, dir), Key: "1.0"}) {
		if !strings.HasPrefix(got, userDir(t, dir)+"/sha256-") {
			t.Errorf("got %s", got)
		}
	}
	untouched(t, elsewhere)
}

// TestImageOfAnother: root does not take another user's file for what it says it is.
func TestImageOfAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		lack(t, "only root gives files to others")
	}
	p := newPlace(t)
	uri := p.push(t, "v1", linux(t, layer(t, 1, 1000)))
	dir, _ := openForAll(t)
	path := filepath.Join(dir, "x.sqsh")
	if _, err := image.Import(t.Context(), options(uri, dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 1, 1); err != nil {
		t.Fatal(err)
	}
	if done, err := image.Import(t.Context(), options(uri, dir)); err != nil || done.Unchanged {
		t.Errorf("got %+v, %v", done, err)
	}
	if done, err := image.Import(t.Context(), options(uri, dir)); err != nil || !done.Unchanged {
		t.Errorf("its own: got %+v, %v", done, err)
	}
}
