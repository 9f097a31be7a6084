// Package own finds, makes and opens files that are a user's alone in places where others
// may write, such as /tmp or the directory of all users' images. It promises that other
// users' links are not followed, that their files are not taken for the user's own, and
// that they cannot block the user by taking a name first.
package own

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/sys/whole"
)

// Check fails unless a path is a directory, and no link to one, that belongs to a user
// and that only he may write to.
func Check(dir string, uid int) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("look at %s: %w", dir, whole.Cause(err))
	}
	if !info.IsDir() || ownerOf(info) != uid || info.Mode()&0o022 != 0 {
		return fmt.Errorf("%s must be a directory of user %d that nobody else may write to", dir, uid)
	}
	return nil
}

// Find is a user's directory of a name: the plain one, or else the first of those that
// Make has made while another had taken the name, be it free again or not; "" if there
// is none.
func Find(parent, name string, uid int) string {
	if plain := filepath.Join(parent, name); Check(plain, uid) == nil {
		return plain
	}
	entries, _ := os.ReadDir(parent) // in the order of their names
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), name+instead) {
			continue
		}
		if dir := filepath.Join(parent, e.Name()); Check(dir, uid) == nil {
			return dir
		}
	}
	return ""
}

// instead stands between a name that another user has taken and a random suffix.
const instead = "~"

// Name is the name that a directory of Make's was asked for by.
func Name(dir string) string {
	name, _, _ := strings.Cut(filepath.Base(dir), instead)
	return name
}

// Make is Find, and makes the directory if there is none. It runs as the user.
func Make(parent, name string, uid int) (string, error) {
	if dir := Find(parent, name, uid); dir != "" {
		return dir, nil
	}
	dir := filepath.Join(parent, name)
	err := makeNew(dir, uid)
	if errors.Is(err, fs.ErrExist) {
		if Check(dir, uid) == nil {
			return dir, nil // another process of the user's was faster
		}
		dir += instead + strings.ToLower(rand.Text()[:12])
		err = makeNew(dir, uid)
	}
	return dir, err
}

// makeNew makes a directory and checks its owner: on some network file systems root's
// files belong to the user nobody.
func makeNew(dir string, uid int) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make directory %s: %w", dir, whole.Cause(err))
	}
	if err := Check(dir, uid); err != nil {
		return errors.Join(err, os.Remove(dir))
	}
	return nil
}

// Open opens a file to lock it or to write it, and makes it if there is none. It refuses
// links, devices and other users' files. From then on other users cannot open the file: a
// reader of a file can hold its lock.
func Open(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0o600)
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("open %s: it is a link, and none is followed here", path)
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || ownerOf(info) != os.Geteuid()) {
		err = fmt.Errorf("open %s: it is no file of user %d", path, os.Geteuid())
	}
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = f.Chmod(0o600)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Mine tells whether a path is a file of the calling user's.
func Mine(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && ownerOf(info) == os.Geteuid()
}

// Way fails if a link that neither root nor the calling user has made is on the way to
// a path: its owner decides where it leads.
func Way(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	at := "/"
	for name := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		at = filepath.Join(at, name)
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look at %s: %w", at, whole.Cause(err))
		}
		if owner := ownerOf(info); info.Mode()&fs.ModeSymlink != 0 && owner != 0 && owner != os.Geteuid() {
			return fmt.Errorf("%s is a link of user %d, who decides where it leads", at, owner)
		}
	}
	return nil
}

func ownerOf(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }
