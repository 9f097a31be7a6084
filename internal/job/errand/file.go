package errand

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/sys/tail"
	"github.com/muster-hpc/muster/internal/sys/whole"
)

// openFile opens an ordinary file. A pipe whose writer never comes is refused at once.
func openFile(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no ordinary file", path)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// openOrdinary opens an ordinary file.
func openOrdinary(path string) (*os.File, error) {
	f, _, err := openFile(path)
	return f, err
}

// read reads what is new in a file. It is opened anew each time: network file systems then show
// what other machines have written.
func read(r Reading) (*Chunk, error) {
	f, info, err := openFile(r.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c := &Chunk{Offset: r.Offset, Size: info.Size(), Inode: tail.Inode(info), Changed: info.ModTime()}
	switch {
	case r.Inode == 0 && r.SkipBytes > 0 && c.Size > r.SkipBytes:
		c.Offset = c.Size - r.SkipBytes
	case r.Inode != 0 && !(tail.Spot{Offset: r.Offset, Mark: r.Mark, Inode: r.Inode}).Holds(f, info):
		c.Offset = 0
	}
	c.Data, err = io.ReadAll(io.NewSectionReader(f, c.Offset, min(r.MostBytes, answerLimit/2)))
	return c, err
}

// put makes a file that is not there yet.
func put(p File) error {
	f, err := os.OpenFile(p.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", p.Path, whole.Cause(err))
	}
	_, err = f.Write(p.Data)
	return errors.Join(err, f.Close())
}

// extend gives a file another end. No link is followed, and nothing but an ordinary file is written.
func extend(e Extension) error {
	flags := os.O_WRONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	if e.SizeBytes == 0 {
		flags |= os.O_CREATE
		if err := os.MkdirAll(filepath.Dir(e.Path), 0o755); err != nil {
			return fmt.Errorf("make the directory of %s: %w", e.Path, err)
		}
	}
	f, err := os.OpenFile(e.Path, flags, 0o644)
	if err != nil {
		return fmt.Errorf("write %s: %w", e.Path, whole.Cause(err))
	}
	if err = goOn(f, e); err != nil {
		err = fmt.Errorf("write %s: %w", e.Path, whole.Cause(err))
	}
	return errors.Join(err, f.Close())
}

// goOn cuts a file and writes what follows.
func goOn(f *os.File, e Extension) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is no ordinary file")
	case info.Size() < e.SizeBytes:
		return fmt.Errorf("of its %d bytes %d are left: %w", e.SizeBytes, info.Size(), fs.ErrNotExist)
	case info.Size() > e.SizeBytes:
		if err := f.Truncate(e.SizeBytes); err != nil {
			return err
		}
	}
	_, err = f.WriteAt(e.Data, e.SizeBytes)
	return err
}
