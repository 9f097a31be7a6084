package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// TestRef_lock_leaves_no_file takes a lock for a name of which there is nothing, and
// for one with a run directory.
func TestRef_lock_leaves_no_file(t *testing.T) {
	for name, stays := range map[string]bool{"never": false, "there": true} {
		t.Run(name, func(t *testing.T) {
			r := Ref{Home: t.TempDir(), Name: name}
			if stays {
				if err := os.Mkdir(r.Layout().Dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			unlock, err := r.lock()
			if err != nil {
				t.Fatal(err)
			}
			if !r.there() {
				t.Error("what is being changed is not there")
			}
			unlock()
			if _, err := os.Lstat(r.lockFile()); errors.Is(err, fs.ErrNotExist) == stays {
				t.Errorf("the file of the lock: %v", err)
			}
		})
	}
}

// TestRef_lock_race has many take and give back a lock whose file comes and goes: at
// no time have two of them the lock.
func TestRef_lock_race(t *testing.T) {
	r := Ref{Home: t.TempDir(), Name: "u"}
	var holders, had atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 500 {
				unlock, err := r.lock()
				if err != nil {
					continue
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d have the lock", n)
				}
				had.Add(1)
				holders.Add(-1)
				unlock()
			}
		})
	}
	group.Wait()
	if had.Load() == 0 {
		t.Error("nobody ever had it")
	}
	if left, err := filepath.Glob(filepath.Join(r.Home, "*")); len(left) > 0 || err != nil {
		t.Error(fmt.Sprint("left: ", left, err))
	}
}

func TestRef_lock_follows_no_link(t *testing.T) {
	r := Ref{Home: t.TempDir(), Name: "u"}
	victim := filepath.Join(t.TempDir(), "made")
	if err := os.Symlink(victim, r.lockFile()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.lock(); err == nil {
		t.Error("a link was taken for the lock")
	}
	if _, err := os.Lstat(victim); err == nil {
		t.Error("a file was made through the link")
	}
}

// TestRef_lock_is_the_owners: nobody else can open the file, and so hold its lock.
func TestRef_lock_is_the_owners(t *testing.T) {
	r := Ref{Home: t.TempDir(), Name: "u"}
	for name, before := range map[string]os.FileMode{"new": 0, "of_an_older_muster": 0o644} {
		t.Run(name, func(t *testing.T) {
			if before != 0 {
				if err := os.WriteFile(r.lockFile(), nil, before); err != nil {
					t.Fatal(err)
				}
			}
			unlock, err := r.lock()
			if err != nil {
				t.Fatal(err)
			}
			defer unlock()
			if info, err := os.Lstat(r.lockFile()); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("got %v, %v", info.Mode(), err)
			}
		})
	}
}
