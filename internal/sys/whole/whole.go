// Package whole writes files that others find whole or not at all, with the text before
// or with the new one, even if the machine loses its power meanwhile: they are written
// beside, brought to the disk, and renamed. It reads them without trust in what has their
// names by now.
package whole

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Write makes path a file with that text and mode.
func Write(path string, text []byte, mode fs.FileMode) error {
	return Make(path, text, func(beside *os.File) error { return beside.Chmod(mode) })
}

// Make makes path a file with that text. Before it has its name, finish does what else
// belongs to it, such as more text; until then only its owner can read it.
func Make(path string, text []byte, finish func(beside *os.File) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, Cause(err))
	}
	_, err = f.Write(text)
	if err == nil {
		err = finish(f)
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(Cause(err), os.Remove(f.Name())))
	}
	if err := Rename(f.Name(), path); err != nil {
		_ = os.Remove(f.Name()) // it is not there if only the directory could not be brought to the disk
		return fmt.Errorf("write %s: %w", path, Cause(err))
	}
	return nil
}

// JSON makes path a file that everybody may read, with a value as people can read it.
func JSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return Write(path, append(text, '\n'), 0o644)
}

// Rename renames a file for good. The caller has brought its content to the disk.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// readLimit is far more than a file takes that we write for ourselves, in bytes.
const readLimit = 16 << 20

// Read reads a small file of ours, which may be anything by now: a pipe, whose writer never
// comes, is refused at once.
func Read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		err = errors.New("it is no ordinary file")
	case info.Size() > readLimit:
		err = errors.New("it is far too large")
	default:
		return io.ReadAll(io.LimitReader(f, readLimit))
	}
	return nil, &fs.PathError{Op: "read", Path: path, Err: err}
}

// Cause is an error about a file without the deed and the name that package os adds: for who says them himself, or where
// the name means nothing to users.
func Cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

// NoRoom is how the system says that there is no room for more, nil if an error does not say so.
func NoRoom(err error) error {
	for _, why := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(err, why) {
			return why
		}
	}
	return nil
}
