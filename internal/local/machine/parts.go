package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

func readOnlyBind(lower, target string) error {
	if err := unix.Mount(lower, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	return readOnly(target)
}

// parts shows each entry of a directory by itself in the directory's writable layer,
// over which the kernel lays none.
func (r Root) parts(name, lower, upper, target string) error {
	if err := unix.Mount(upper, target, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	entries, err := os.ReadDir(lower)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := r.part(filepath.Join(name, e.Name()), filepath.Join(lower, e.Name()), filepath.Join(target, e.Name()), e); err != nil {
			return fmt.Errorf("show /%s: %w", filepath.Join(name, e.Name()), err)
		}
	}
	return nil
}

func (r Root) part(name, lower, target string, e fs.DirEntry) error {
	switch {
	case r.has("/" + name):
		return nil // it is in the writable layer
	case e.Type()&fs.ModeSymlink != 0:
		to, err := os.Readlink(lower)
		if err == nil {
			err = os.Symlink(to, target)
		}
		return ignoreExist(err)
	case e.IsDir():
		info, err := e.Info()
		if err != nil {
			return err
		}
		if err := MakeDir(target, info.Mode()); err != nil {
			return err
		}
		return r.mountOverlay(name, lower, target, info.Mode())
	case e.Type().IsRegular():
		f, err := os.OpenFile(target, os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		return errors.Join(f.Close(), readOnlyBind(lower, target))
	}
	return nil
}

func ignoreExist(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// initialUserNamespace tells whether the process is in the machine's first user
// namespace, where root is really root.
var initialUserNamespace = sync.OnceValue(func() bool {
	ids, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && len(strings.Fields(string(ids))) == 3 && strings.Fields(string(ids))[2] == "4294967295"
})
