package export

import (
	"io/fs"
	"path"
	"path/filepath"
)

// linkText is what a symbolic link at a path below the directory says in the bucket, and after an import, and whether
// it stays in the directory. A target below mount, which is where the machines see the directory, is taken as relative
// to the link: so it means the same file wherever the directory is mounted.
func linkText(mount, at, target string) (text string, stays bool) {
	if !path.IsAbs(target) {
		return target, fs.ValidPath(path.Join(path.Dir(at), target))
	}
	// A target with ".." in it may pass through other links: only the kernel knows where it leads.
	if mount == "" || path.Clean(target) != target || target != mount && !below(target, mount) {
		return target, false
	}
	text, err := filepath.Rel(path.Join(mount, path.Dir(at)), target)
	return text, err == nil
}
