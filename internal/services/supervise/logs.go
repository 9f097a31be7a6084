package supervise

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// rotateEvery is how often logs are looked at.
const rotateEvery = time.Minute

// Logs keeps some files small.
type Logs struct {
	// Patterns are as filepath.Match has them.
	Patterns []string
	// Limit is how large a file may become. Then it goes on empty, and what it had is
	// in the file of its name and ".1".
	Limit int64
}

// Rotate looks at all files once. Their writers keep the same file, which must be open for
// appending; lines that are written at that moment may be lost.
func (l Logs) Rotate() error {
	var errs []error
	for _, p := range l.Patterns {
		files, err := filepath.Glob(p)
		errs = append(errs, err)
		for _, f := range files {
			errs = append(errs, rotate(f, l.Limit))
		}
	}
	return errors.Join(errs...)
}

func rotate(path string, limit int64) error {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() < limit {
		return err
	}
	if err := copyTo(path+".1", f); err != nil {
		return err
	}
	return f.Truncate(0)
}

// copyTo makes a file whole, or not at all.
func copyTo(path string, from io.Reader) error {
	beside := path + ".new"
	if err := os.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	to, err := os.OpenFile(beside, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		return errors.Join(err, os.Remove(beside))
	}
	return os.Rename(beside, path)
}
