package boot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Open lets all users write into the top directory of a file system that is new:
// root's alone and empty. A directory that was used or changed is left as it is.
func (m Machine) Open(dir string) (opened bool, err error) {
	path := m.path(dir)
	info, err := os.Stat(path)
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", dir, err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid != 0 || info.Mode().Perm() != 0o755 || info.Mode()&fs.ModeSticky != 0 {
		return false, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return false, fmt.Errorf("look into %s: %w", dir, err)
	}
	for _, e := range entries {
		if e.Name() != "lost+found" {
			return false, nil
		}
	}
	err = os.Chmod(path, 0o777|fs.ModeSticky)
	if errors.Is(err, syscall.EROFS) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("let all users write into %s: %w", dir, err)
	}
	return true, nil
}
