package nodes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/local/machine"
)

// ErrUnseen says that a machine's file at a path cannot be seen from here: each machine
// has its own, or it changes while the machine runs.
var ErrUnseen = errors.New("each machine has its own")

// maxLinks is how many links a path may lead through, as for Linux.
const maxLinks = 40

// Stat is what a new machine of the cluster has at a path, as it follows links there. It
// is fs.ErrNotExist where there is surely nothing.
func (v View) Stat(path string) (fs.FileInfo, error) {
	for range maxLinks {
		if f, ok := v.own(filepath.Clean(path)); ok {
			return f, nil
		}
		info, next, err := v.follow(filepath.Clean(path))
		if err != nil || next == "" {
			return info, err
		}
		path = next
	}
	return nil, fmt.Errorf("look at %s: too many links", path)
}

// own is the file that machines have at a path instead of the host's, if they do.
func (v View) own(path string) (ownFile, bool) {
	for _, f := range v.Record.Files {
		if f.Path == path {
			return ownFile{f}, true
		}
	}
	return ownFile{}, false
}

// ownFile is such a file as fs.FileInfo. Its time is unknown: it is made with the machine.
type ownFile struct{ file machine.File }

func (f ownFile) Name() string       { return filepath.Base(f.file.Path) }
func (f ownFile) Size() int64        { return int64(len(f.file.Text)) }
func (f ownFile) Mode() fs.FileMode  { return f.file.Mode.Perm() }
func (f ownFile) ModTime() time.Time { return time.Time{} }
func (f ownFile) IsDir() bool        { return false }
func (f ownFile) Sys() any           { return nil }

// follow goes down a path up to its end, or to the first link in it, and is then where
// that leads to.
func (v View) follow(path string) (info fs.FileInfo, next string, err error) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i := range parts {
		at := "/" + strings.Join(parts[:i+1], "/")
		if i+1 < len(parts) && v.leads(at) {
			continue
		}
		host, err := v.behind(at)
		if err != nil {
			return nil, "", err
		}
		if info, err = os.Lstat(host); err != nil {
			return nil, "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		to, err := os.Readlink(host)
		if err != nil {
			return nil, "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(at), to)
		}
		return nil, filepath.Join(append([]string{to}, parts[i+1:]...)...), nil
	}
	return info, "", nil
}

// leads tells whether a path is above a mount of the cluster's, and so is there in any case.
func (v View) leads(path string) bool {
	return slices.ContainsFunc(v.Record.Shared, func(m Mount) bool { return m.Target != path && within(m.Target, path) })
}

// behind is the path of this machine that the cluster's machines show at one of theirs.
func (v View) behind(path string) (string, error) {
	if over, ok := v.Record.over(path); ok {
		if over.Source == "" {
			return "", fmt.Errorf("look at %s: %w", path, ErrUnseen)
		}
		return filepath.Join(over.Source, strings.TrimPrefix(path, over.Target)), nil
	}
	if v.mounted(path) {
		return "", fs.ErrNotExist
	}
	if machine.Shows(path) {
		return path, nil
	}
	switch top, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/"); top {
	case "mnt", "media", "boot":
		return "", fs.ErrNotExist // they are empty
	}
	return "", fmt.Errorf("look at %s: %w", path, ErrUnseen)
}
