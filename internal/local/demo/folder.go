package demo

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/muster-hpc/muster/examples"
	"github.com/muster-hpc/muster/examples/train"
	"github.com/muster-hpc/muster/internal/sys/own"
)

// folder is the directory of the demo's files. One demo at a time has it.
type folder struct {
	path string
	// mark is locked as long as the demo runs.
	mark *os.File
	// made says that this demo made the directory.
	made bool
}

// markFile is the first file in a demo's folder: its process ID.
const markFile = ".muster-demo"

// takeFolder makes the folder, or takes the one that an earlier demo left. It changes nothing
// in it but the mark, and fails if another demo runs or the folder has other files.
func takeFolder(path string) (*folder, error) {
	for {
		f, err := tryFolder(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		// a demo that ended removed it between two of our steps
	}
}

func tryFolder(path string) (*folder, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	err := os.Mkdir(path, 0o755)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	f := &folder{path: path, made: err == nil}
	if _, err := os.Lstat(f.markPath()); err != nil { // before a file is made in it
		if err := f.onlyOurs(); err != nil {
			return nil, err
		}
	}
	if f.mark, err = own.Open(f.markPath()); err != nil {
		return nil, err
	}
	if err := f.lock(); err != nil {
		return nil, errors.Join(err, f.mark.Close())
	}
	return f, nil
}

func (f *folder) markPath() string { return filepath.Join(f.path, markFile) }

func (f *folder) lock() error {
	if err := syscall.Flock(int(f.mark.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		pid := make([]byte, 20)
		n, _ := f.mark.ReadAt(pid, 0)
		return fmt.Errorf("another demo is running (process %s); wait for it to end", strings.TrimSpace(string(pid[:n])))
	} else if err != nil {
		return fmt.Errorf("lock %s: %w", f.markPath(), err)
	}
	mine, err := f.mark.Stat()
	if err != nil {
		return err
	}
	if there, err := os.Lstat(f.markPath()); err != nil || !os.SameFile(mine, there) {
		return fs.ErrNotExist
	}
	if err := f.onlyOurs(); err != nil {
		return err
	}
	if err := f.mark.Truncate(0); err != nil {
		return err
	}
	_, err = fmt.Fprintln(f.mark, os.Getpid())
	return err
}

// clear removes what an earlier demo left in the folder. A file that another program has
// put there since it was taken stops it.
func (f *folder) clear() error {
	if err := f.onlyOurs(); err != nil {
		return err
	}
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != markFile {
			err = errors.Join(err, os.RemoveAll(filepath.Join(f.path, e.Name())))
		}
	}
	return err
}

// release gives the folder back as it was found.
func (f *folder) release() error {
	if f.made {
		return f.remove()
	}
	return f.mark.Close()
}

// remove removes the folder with all that is in it.
func (f *folder) remove() error { return errors.Join(os.RemoveAll(f.path), f.mark.Close()) }

// onlyOurs fails if the folder has anything that no demo writes: another name, or a file of
// ours that a user has changed.
func (f *folder) onlyOurs() error {
	info, err := os.Lstat(f.path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no directory; move it away or delete it", f.path)
	}
	shipped, err := shippedFiles()
	if err != nil {
		return err
	}
	return filepath.WalkDir(f.path, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == f.path {
			return err
		}
		name, err := filepath.Rel(f.path, path)
		if err != nil {
			return err
		}
		if e.IsDir() && strings.HasPrefix(name, "mmdebstrap.") { // it names its folder so, in TMPDIR
			return filepath.SkipDir
		}
		if !isOurs(path, name, e, shipped) {
			return fmt.Errorf("%s has %s, which is no file of the demo, or was changed; move the folder away or delete it", f.path, name)
		}
		return nil
	})
}

// isOurs reports whether a demo makes a file of this name and content. It may have been cut
// off while it wrote.
func isOurs(path, name string, e fs.DirEntry, shipped map[string][]byte) bool {
	dir, base := filepath.Split(name)
	switch {
	case e.IsDir():
		return name == "program" || name == workspace
	case name == workspace+"/"+guidesName:
		return e.Type() == fs.ModeSymlink
	case !e.Type().IsRegular():
		return false
	case name == markFile || name == "root.tar":
		return true
	}
	want, known := shipped[base]
	if !known || dir != "" && dir != workspace+"/" {
		return false
	}
	has, err := os.ReadFile(path)
	return err == nil && bytes.HasPrefix(want, has)
}

// shippedFiles are the files that writeFiles writes, by their names.
func shippedFiles() (map[string][]byte, error) {
	all := map[string][]byte{}
	add := func(from fs.FS, pattern string) error {
		paths, err := fs.Glob(from, pattern)
		for _, p := range paths {
			text, problem := fs.ReadFile(from, p)
			all[filepath.Base(p)], err = text, errors.Join(err, problem)
		}
		return err
	}
	err := errors.Join(add(examples.Files, "demo/*"), add(examples.Files, "bytelm/*"), add(train.Files, "*"))
	return all, err
}
