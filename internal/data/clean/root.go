package clean

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/sys/whole"
)

// Root is a directory below which files are looked for.
type Root struct {
	path string
	is   id
	at   mount
}

// Roots looks at directories that are to be cleaned, and refuses those that nobody wants
// cleaned whole: the root of all files, the user's home, what a link leads to. One that is
// not there is an error, for a name that is mistyped is not clean.
func Roots(paths []string, home string) ([]Root, error) {
	var all []Root
	var errs []error
	for _, p := range paths {
		r, err := rootOf(p, home)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if !slices.ContainsFunc(all, func(o Root) bool { return o.is == r.is && o.at == r.at }) {
			all = append(all, r)
		}
	}
	return all, errors.Join(errs...)
}

func rootOf(given, home string) (Root, error) {
	if given == "" {
		return Root{}, errors.New("an empty name is of no directory")
	}
	path, err := filepath.Abs(given)
	if err != nil {
		return Root{}, fmt.Errorf("look at %s: %w", given, err)
	}
	if err := ordinary(path); err != nil {
		return Root{}, err
	}
	d, err := openAt(unix.AT_FDCWD, path, path)
	if err != nil {
		return Root{}, err
	}
	defer d.file.Close()
	for _, never := range []struct{ path, what string }{{"/", "the root of all files"}, {home, "your home directory"}} {
		if is(d, never.path) {
			return Root{}, fmt.Errorf("%s is %s: name the directories in it that are to be cleaned", path, never.what)
		}
	}
	return Root{path, d.is, d.at}, nil
}

// ordinary refuses what is no directory.
func ordinary(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return fmt.Errorf("look at %s: %w", path, whole.Cause(err))
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := filepath.EvalSymlinks(path)
		if err != nil {
			return fmt.Errorf("%s is a link that leads nowhere", path)
		}
		return fmt.Errorf("%s is a link, and no link is followed; say %s", path, to)
	case !info.IsDir():
		return fmt.Errorf("%s is no directory", path)
	}
	return nil
}

// is tells whether a directory is that of a path.
func is(d *directory, path string) bool {
	if path == "" {
		return false
	}
	mine, err := d.file.Stat()
	if err != nil {
		return false
	}
	other, err := os.Stat(path)
	return err == nil && os.SameFile(mine, other)
}

// open opens the directory that was looked at, and no other one of its name.
func (r Root) open() (*directory, error) {
	d, err := openAt(unix.AT_FDCWD, r.path, r.path)
	if err != nil {
		return nil, err
	}
	if d.is != r.is || d.at != r.at {
		d.file.Close()
		return nil, fmt.Errorf("look into %s: %w", r.path, ErrChanged)
	}
	return d, nil
}
