package errand

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/sys/whole"
)

// repair makes repairs, each in one step. Whoever is killed between two of them makes all again:
// those that are made stay as they are. One that cannot be made leaves those behind it, which may
// need it, as they are.
func repair(all []Repair, ended time.Time) []Repair {
	for i, r := range all {
		err := r.make(ended)
		if err == nil {
			continue
		}
		left := err.Error()
		for j := i; j < len(all); j++ {
			all[j].Left = left
			left = "what comes before it could not be done"
		}
		break
	}
	return all
}

func (r Repair) make(ended time.Time) error {
	if r.Aside() {
		return r.move(ended)
	}
	return r.turn(ended)
}

// move moves something to its new name, unless it changed meanwhile.
func (r Repair) move(ended time.Time) error {
	_, from := os.Lstat(r.Path)
	_, to := os.Lstat(r.Now)
	switch {
	case errors.Is(from, fs.ErrNotExist) && to == nil:
		return nil // it was done
	case from != nil:
		return whole.Cause(from)
	}
	if why := changedSince(r.Path, ended); why != "" {
		return errors.New(why)
	}
	err := unix.Renameat2(unix.AT_FDCWD, r.Path, unix.AT_FDCWD, r.Now, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // a file system that cannot refuse
		if to == nil {
			return unix.EEXIST
		}
		return whole.Rename(r.Path, r.Now)
	}
	if err != nil {
		return err
	}
	return synced(filepath.Dir(r.Now))
}

// synced brings a directory to the disk.
func synced(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// turn gives a pointer its text or its target, unless it says something else meanwhile.
func (r Repair) turn(ended time.Time) error {
	info, err := os.Lstat(r.Path)
	if err != nil {
		return whole.Cause(err)
	}
	t := &tree{root: filepath.Dir(r.Path)}
	t.point(filepath.Base(r.Path), info)
	switch {
	case len(t.pointers) == 1 && t.pointers[0].text == r.Now:
		return nil // it was done
	case len(t.pointers) != 1 || t.pointers[0].text != r.Was:
		return errors.New("it was written anew")
	}
	if why := changedSince(r.Path, ended); why != "" {
		return errors.New(why)
	}
	return t.write(t.pointers[0], r.Now)
}

// write gives a pointer its text or its target, in one step. What is beside it meanwhile has always
// the same name, so that who was killed leaves nothing that the next does not take away.
func (t *tree) write(p pointer, text string) error {
	at := filepath.Join(t.root, p.path)
	beside := filepath.Join(t.root, filepath.Dir(p.path), "."+filepath.Base(p.path)+".muster.part")
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write %s: %w", at, whole.Cause(err))
	}
	err := p.make(beside, text)
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", at, whole.Cause(err)), os.RemoveAll(beside))
	}
	return whole.Rename(beside, at)
}

// make makes a pointer of the same kind under another name.
func (p pointer) make(at, text string) error {
	if p.link {
		return os.Symlink(text, at)
	}
	if p.line {
		text += "\n"
	}
	f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, p.mode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Chmod(p.mode), f.Sync(), f.Close())
}

// changedSince is why something may be in use: it or something in it changed after a time, or came
// there then. It is "" where nothing did.
func changedSince(path string, ended time.Time) string {
	newest, at := time.Time{}, ""
	err := filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		s := info.Sys().(*syscall.Stat_t)
		for _, t := range []time.Time{info.ModTime(), time.Unix(s.Ctim.Unix())} {
			if t.After(newest) {
				newest, at = t, p
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Sprintf("it cannot be looked through: %v", whole.Cause(err))
	}
	if !newest.After(ended) {
		return ""
	}
	name := filepath.Base(path)
	if rel, err := filepath.Rel(path, at); err == nil && rel != "." {
		name += "/" + rel
	}
	return fmt.Sprintf("%s changed at %s, after the end of the run", strings.ToValidUTF8(name, "?"), newest.Format(time.RFC3339))
}
