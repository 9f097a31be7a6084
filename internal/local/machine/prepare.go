package machine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// prepare makes the machine's own files, directories and mount points below one entry of
// the root in its upper layer. An ordinary user could not make them later in a directory
// of the host's root user.
func (r Root) prepare(name string) error {
	for _, d := range r.wanted(name) {
		at := ""
		for _, elem := range strings.Split(d[1:], "/") {
			at = filepath.Join(at, elem)
			if err := r.raise(at); err != nil {
				return err
			}
		}
	}
	if err := r.place(name); err != nil {
		return err
	}
	return r.reserve(name)
}

// reserve makes a file where one is to be mounted and the host has none, or has a link
// that may lead out of the root.
func (r Root) reserve(name string) error {
	for _, b := range r.Binds {
		info, err := os.Stat(b.Source)
		if err != nil || info.IsDir() || !strings.HasPrefix(b.Target, "/"+name+"/") {
			continue
		}
		if has, err := os.Lstat(filepath.Join(r.Host, b.Target)); err == nil && has.Mode().IsRegular() {
			continue
		}
		if err := touch(filepath.Join(r.Dir, "upper", b.Target)); err != nil {
			return err
		}
	}
	return nil
}

// wanted are the directories that are to be made below one entry.
func (r Root) wanted(name string) []string {
	dirs := slices.Clone(r.Dirs)
	for _, f := range r.Files {
		dirs = append(dirs, filepath.Dir(f.Path))
	}
	for _, b := range r.Binds {
		switch info, err := os.Stat(b.Source); {
		case err != nil:
		case info.IsDir():
			dirs = append(dirs, b.Target)
		default:
			dirs = append(dirs, filepath.Dir(b.Target))
		}
	}
	return slices.DeleteFunc(dirs, func(d string) bool { return !strings.HasPrefix(d, "/"+name+"/") })
}

// raise makes one directory in the upper layer, like the host's if that has one.
func (r Root) raise(at string) error {
	lower, upper := filepath.Join(r.Host, at), filepath.Join(r.Dir, "upper", at)
	err := os.Mkdir(upper, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(lower)
	if err != nil || !info.IsDir() {
		return nil // the host has none
	}
	return errors.Join(os.Chmod(upper, info.Mode()), copyOwner(lower, upper))
}
