package data

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/muster-hpc/muster/internal/data/manifest"
)

// local is a directory that files are brought to. Paths come from outside: all goes through os.Root, which no link and no
// ".." leads out of.
type local struct {
	dir  string
	root *os.Root
	lock *os.File

	mu   sync.Mutex // guards last and the counts of users
	last *folder    // files come in order, so the next is often in the same one
}

// folder is an open directory, so that each of its files is found in one step.
type folder struct {
	path  string
	root  *os.Root
	users int
}

// openLocal makes the directory, and keeps others from bringing files to it at the same time.
func openLocal(dir string) (*local, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	lock, err := Claim(dir)
	if err != nil {
		root.Close()
		return nil, err
	}
	return &local{dir: dir, root: root, lock: lock}, nil
}

// settle returns when all that was brought will outlive a crash of the machine: once for all files, where a wait for
// each would take longer than to fetch it. Without that, a file that was cut off has another size, and is fetched again.
func (l *local) settle() error {
	dir, err := l.root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := settle(dir); err != nil {
		return fmt.Errorf("write what was brought to the disk of %s: %w", l.dir, err)
	}
	return nil
}

// Claim takes the lock of a directory to which files are brought, until it is closed. File systems without locks let
// everybody in.
func Claim(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		f.Close()
		return nil, fmt.Errorf("another muster brings files to %s; wait for its end", dir)
	}
	return f, nil
}

// seeLocal opens the directory to look at. One that is not there has nothing in it.
func seeLocal(dir string) (*local, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return &local{dir: dir}, nil
	}
	if err != nil {
		return nil, err
	}
	return &local{dir: dir, root: root}, nil
}

func (l *local) close() {
	if l.root == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != nil {
		l.drop(l.last)
		l.last = nil
	}
	if l.lock != nil {
		l.lock.Close()
	}
	l.root.Close()
}

// folder opens the directory of a path, and makes it if asked to. Release it.
func (l *local) folder(file string, make bool) (*folder, error) {
	dir := path.Dir(file)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != nil && l.last.path == dir {
		l.last.users++
		return l.last, nil
	}
	if make && dir != "." {
		if err := l.root.MkdirAll(dir, 0o777); err != nil {
			return nil, err
		}
	}
	root, err := l.root.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if l.last != nil {
		l.drop(l.last)
	}
	l.last = &folder{path: dir, root: root, users: 2} // one of them is last itself
	return l.last, nil
}

func (l *local) release(f *folder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(f)
}

// drop is for holders of the lock.
func (l *local) drop(f *folder) {
	if f.users--; f.users == 0 {
		f.root.Close()
	}
}

// look says what is at a path; fs.ErrNotExist if there is nothing.
func (l *local) look(file string) (fs.FileInfo, error) {
	if l.root == nil {
		return nil, fs.ErrNotExist
	}
	dir, err := l.folder(file, false)
	if err != nil {
		return nil, err
	}
	defer l.release(dir)
	return dir.root.Lstat(path.Base(file))
}

// has says whether a record's file is there and needs not be fetched, or why it cannot be put there.
func (l *local) has(r manifest.Record) (bool, error) {
	info, err := l.look(r.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return isHere(r, info)
}

// at is a path as its user writes it.
func (l *local) at(file string) string { return filepath.Join(l.dir, filepath.FromSlash(file)) }

// OpenBeside opens the file that another one is written to. What is there is gone on with if it is ours alone: a link of
// any kind would lead the bytes to another file.
func OpenBeside(dir *os.Root, tmp string) (*os.File, error) {
	for range 2 {
		f, err := dir.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
		if f, err := dir.OpenFile(tmp, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0); err == nil {
			if info, err := f.Stat(); err == nil && alone(info) {
				return f, nil
			}
			f.Close()
		}
		if err := dir.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return nil, localError("what is fetched is written to " + tmp + " beside it, and something else has that name")
}

// alone says that an open file has one name, and is no pipe or device.
func alone(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode().IsRegular() && stat.Nlink == 1
}

// localError is what stands in the way of a file.
type localError string

func (e localError) Error() string { return string(e) }

// isHere says whether what is at a record's path is the record's file, as far as size and time say, or why it cannot be
// put there. It decides alone.
func isHere(r manifest.Record, info fs.FileInfo) (bool, error) {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return false, localError("a directory is there, where the dataset has a file")
	case mode.Type()&fs.ModeSymlink != 0:
		return false, nil // the link is replaced, not what it leads to
	case !mode.IsRegular():
		return false, localError("something is there that is no file")
	}
	return info.Size() == r.SizeBytes && info.ModTime().UnixNano() == r.ModTime, nil
}

// finish gives a file that was written and proven its time, its mode and its name.
func finish(dir *folder, f *os.File, r manifest.Record) error {
	name := path.Base(r.Path)
	if err := f.Chmod(fs.FileMode(r.Mode) | 0o400); err != nil { // its owner can read it, or it could not be proven again
		return err
	}
	at := time.Unix(0, r.ModTime)
	if err := dir.root.Chtimes(manifest.Beside(name), at, at); err != nil {
		return err
	}
	return dir.root.Rename(manifest.Beside(name), name)
}
