package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strconv"
	"syscall"

	"github.com/muster-hpc/muster/internal/local/nodes"
	"github.com/muster-hpc/muster/internal/sys/own"
)

// A user who can change a run directory gains the rights of its cluster: it has the
// programs that run as root, and files that get other owners and modes. So files that
// another user could have made are not used, and links are not followed.

// guard refuses a home or a run directory that others can change. Who owns a folder
// above the home is trusted: the caller chose it.
func (r Ref) guard() error {
	home, err := os.Stat(r.Home)
	if err != nil {
		return err
	}
	if err := mine(r.Home, home, os.Getuid(), 0); err != nil {
		return fmt.Errorf("%w; let MUSTER_HOME name a folder of your own", err)
	}
	dir := r.Layout().Dir
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no directory of a cluster; remove it, or let MUSTER_HOME name another folder", dir)
	}
	if err := mine(dir, info, os.Getuid()); err != nil {
		return fmt.Errorf("cluster %s is not yours: %w", r.Name, err)
	}
	return claimed(dir)
}

// mine refuses a directory whose owner is not among some users, or in which others may
// replace files.
func mine(path string, info fs.FileInfo, owners ...int) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("the owner of %s is unknown", path)
	}
	if !slices.Contains(owners, int(st.Uid)) {
		return fmt.Errorf("%s belongs to user %s", path, userName(st.Uid))
	}
	mode := info.Mode()
	group := mode&0o020 != 0 && int(st.Gid) != os.Getgid() && st.Gid != 0
	if (mode&0o002 != 0 || group) && mode&os.ModeSticky == 0 {
		return fmt.Errorf("others may change %s, whose mode is %04o", path, mode.Perm())
	}
	return nil
}

// userName is a user's name, or his number if he has none here.
func userName(uid uint32) string {
	id := strconv.Itoa(int(uid))
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return id
}

// makeDirectories makes the run directory, parents first.
func makeDirectories(l *nodes.Layout, o owners) error {
	for _, d := range runDirectories(l, o) {
		path := l.Path(d.path)
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := own.Give(path, d.owner, d.mode|os.ModeDir); err != nil {
			return err
		}
		if d.path == "" {
			if err := claim(l); err != nil {
				return err
			}
		}
	}
	return nil
}

// foreign names the user whose cluster it is, if the caller may not act for him: it is
// empty for the caller's own cluster, and for root.
func (r Ref) foreign() string {
	caller := os.Getuid()
	owner, name := r.owner()
	if caller == 0 || owner < 0 || owner == caller {
		return ""
	}
	return name
}

// owner is the user who made the cluster, or who owns its run directory; -1 where there
// is none.
func (r Ref) owner() (uid int, name string) {
	if record, err := r.Layout().Record(); err == nil && record.User != "" {
		return record.UID, record.User
	}
	info, err := os.Lstat(r.Layout().Dir)
	if err != nil {
		return -1, ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, ""
	}
	return int(stat.Uid), userName(stat.Uid)
}
