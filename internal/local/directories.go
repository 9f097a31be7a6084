package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-hpc/muster/internal/say/count"
)

// directories makes and verifies the workload's directories on shared storage.
func (u *up) directories() (string, error) {
	wanted := u.Workload.Expanded()
	for _, d := range wanted {
		top, rest, ok := u.hostPath(d.Path)
		if !ok {
			return "", fmt.Errorf("%s is on no shared file system", d.Path)
		}
		if err := makeShared(top, rest, fileMode(d.Mode)); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%s on %s, owner %s", count.Of(len(wanted), "directory"), count.Of(len(u.File.SharedStorage), "file system"), u.config.record.User), nil
}

// makeShared makes a directory below top with a mode, its parents with the same
// where they are missing, and verifies it. Jobs can put links there: one that leads
// out of top is not followed.
func makeShared(top, rest string, mode os.FileMode) error {
	root, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer root.Close()
	path := "."
	for _, elem := range strings.Split(strings.Trim(rest, "/"), "/") {
		path = filepath.Join(path, elem)
		err := root.Mkdir(path, 0o755)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := root.Chmod(path, mode); err != nil {
			return err
		}
	}
	if err := root.Chmod(path, mode); err != nil {
		return err
	}
	info, err := root.Stat(path)
	if err != nil {
		return err
	}
	if got := info.Mode() &^ os.ModeDir; !info.IsDir() || got != mode {
		return fmt.Errorf("%s is %s after it was made with %s", filepath.Join(top, path), info.Mode(), mode)
	}
	return nil
}

// fileMode is a mode as chmod(1) writes it in Go's bits.
func fileMode(bits uint32) os.FileMode {
	mode := os.FileMode(bits).Perm()
	for bit, special := range map[uint32]os.FileMode{0o4000: os.ModeSetuid, 0o2000: os.ModeSetgid, 0o1000: os.ModeSticky} {
		if bits&bit != 0 {
			mode |= special
		}
	}
	return mode
}

// hostPath finds a path of the cluster's shared storage on the host: the
// directory that stands for its file system, and the rest.
func (u *up) hostPath(path string) (top, rest string, ok bool) {
	for _, s := range u.File.SharedStorage {
		if rest, ok := strings.CutPrefix(path, s.MountDir); ok && (rest == "" || rest[0] == '/') {
			return StorageDir(u.layout, u.File, s.MountDir), rest, true
		}
	}
	return "", "", false
}
