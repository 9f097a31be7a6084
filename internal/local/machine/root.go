// Package machine makes machines out of this one: a root that overlays the host's,
// an interface of its own on a bridge, an uptime of its own. It promises that writes
// in such a root do not reach the host. The caller decides which programs run there.
package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Root is the file system that a machine of the cluster sees: an overlay of
// its own over each directory of the host's root, so that nothing it writes
// reaches the host, and on top the directories that it shares with others.
type Root struct {
	// Dir holds the overlays' own files. It must be on another file system than
	// what lies below, because an overlay may not contain its own upper layer.
	Dir string
	// Binds are mounted last, in order.
	Binds []Mount
	// Dirs are further directories that the machine must have and may write.
	Dirs []string
	// Files are the machine's own, instead of the host's.
	Files []File
	// Host is where the host's root is seen, normally "/".
	Host string
	// EFA makes /dev/infiniband.
	EFA bool
}

// Mount shows Source, a directory or file of the host, at Target. A missing mount
// point is made.
type Mount struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"read_only,omitempty"`
}

// Entries of the host's root that are made anew or left empty instead of
// being overlaid.
var freshTop = map[string]os.FileMode{
	"proc": 0o555, "sys": 0o555, "dev": 0o755, "run": 0o755, "tmp": 0o777 | os.ModeSticky,
	"mnt": 0o755, "media": 0o755, "boot": 0o755, "lost+found": 0o700, "home": 0o755,
}

// Shows tells whether a path lies below an entry of the host's root that machines show,
// rather than one that each makes for itself.
func Shows(path string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	_, fresh := freshTop[top]
	return top != "" && !fresh
}

// Enter makes the root and moves the calling thread into it. The thread must
// be locked to its goroutine and must have left the process's mount namespace
// and file-system state (CLONE_FS and CLONE_NEWNS).
func (r Root) Enter() error {
	top := filepath.Join(r.Dir, "root")
	if err := os.MkdirAll(top, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(top, top, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind new root: %w", err)
	}
	entries, err := os.ReadDir(r.Host)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := r.overlay(top, e); err != nil {
			return fmt.Errorf("overlay /%s: %w", e.Name(), err)
		}
	}
	if err := systemMounts(top); err != nil {
		return err
	}
	if r.EFA {
		if err := os.Mkdir(filepath.Join(top, "dev", "infiniband"), 0o755); err != nil {
			return err
		}
	}
	for _, b := range r.Binds {
		if err := b.show(top); err != nil {
			return fmt.Errorf("mount %s at %s: %w", b.Source, b.Target, err)
		}
	}
	return pivot(top)
}

// overlay shows one entry of the host's root in the new one.
func (r Root) overlay(top string, e fs.DirEntry) error {
	name := e.Name()
	lower, target := filepath.Join(r.Host, name), filepath.Join(top, name)
	if e.Type()&fs.ModeSymlink != 0 {
		to, err := os.Readlink(lower)
		if err != nil {
			return err
		}
		return os.Symlink(to, target)
	}
	if !e.IsDir() {
		return nil
	}
	mode, fresh := freshTop[name]
	if !fresh {
		info, err := e.Info()
		if err != nil {
			return err
		}
		mode = info.Mode()
	}
	if err := MakeDir(target, mode); err != nil {
		return err
	}
	if fresh {
		return nil
	}
	return r.mountOverlay(name, lower, target, mode)
}

// mountOverlay lays a writable layer over lower. Inside a user namespace the
// kernel refuses that for a directory with other file systems below it; such a
// directory is shown part by part where something is to be made in it, and else as it
// is, read-only.
func (r Root) mountOverlay(name, lower, target string, mode os.FileMode) error {
	upper, work := filepath.Join(r.Dir, "upper", name), filepath.Join(r.Dir, "work", name)
	if err := MakeDir(upper, mode); err != nil {
		return err
	}
	if err := copyOwner(lower, upper); err != nil {
		return err
	}
	if err := os.MkdirAll(work, 0o700); err != nil {
		return err
	}
	if err := r.prepare(name); err != nil {
		return err
	}
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", escape(lower), escape(upper), escape(work))
	if !initialUserNamespace() {
		options += ",userxattr"
	}
	err := unix.Mount("overlay", target, "overlay", 0, options)
	if err == nil || initialUserNamespace() {
		return err
	}
	if len(r.wanted(name)) > 0 {
		return r.parts(name, lower, upper, target)
	}
	return readOnlyBind(lower, target)
}

// systemMounts makes /proc, /sys, /dev and /run of the new root. /proc belongs
// to the process namespace of the thread's next child.
func systemMounts(top string) error {
	at := func(p string) string { return filepath.Join(top, p) }
	if err := unix.Mount("proc", at("proc"), "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for _, p := range []string{"sys", "sysrq-trigger", "irq", "bus", "fs"} {
		p = at("proc/" + p)
		if err := unix.Mount(p, p, "", unix.MS_BIND, ""); err != nil {
			continue // not in every kernel
		}
		if err := readOnly(p); err != nil {
			return err
		}
	}
	if err := mountSys(at("sys")); err != nil {
		return fmt.Errorf("mount /sys: %w", err)
	}
	if err := unix.Mount("tmpfs", at("run"), "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("mount /run: %w", err)
	}
	if err := os.Mkdir(at("run/lock"), 0o777|os.ModeSticky); err != nil {
		return err
	}
	return mountDev(at("dev"))
}

func mountSys(at string) error {
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_RDONLY)
	if unix.Mount("sysfs", at, "sysfs", flags, "") == nil {
		return nil
	}
	if err := unix.Mount("/sys", at, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	return readOnly(at)
}

// mountDev makes a small /dev: the devices that every program expects and no
// disk of the host.
func mountDev(dev string) error {
	if err := unix.Mount("tmpfs", dev, "tmpfs", unix.MS_NOSUID|unix.MS_STRICTATIME, "mode=755,size=1m"); err != nil {
		return fmt.Errorf("mount /dev: %w", err)
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		if _, err := os.Stat("/dev/" + name); err != nil {
			continue
		}
		if err := (Mount{Source: "/dev/" + name, Target: "/" + name}).show(dev); err != nil {
			return fmt.Errorf("mount /dev/%s: %w", name, err)
		}
	}
	if err := makeFuse(dev); err != nil {
		return fmt.Errorf("make /dev/fuse: %w", err)
	}
	for _, m := range []struct {
		name, kind, options string
		flags               uintptr
	}{
		{"pts", "devpts", "newinstance,ptmxmode=0666,mode=620", unix.MS_NOEXEC},
		{"shm", "tmpfs", "mode=1777", unix.MS_NODEV},
		{"mqueue", "mqueue", "", unix.MS_NODEV | unix.MS_NOEXEC},
	} {
		at := filepath.Join(dev, m.name)
		if err := os.Mkdir(at, 0o755); err != nil {
			return err
		}
		err := unix.Mount(m.kind, at, m.kind, unix.MS_NOSUID|m.flags, m.options)
		if err != nil && (m.name != "mqueue" || !errors.Is(err, unix.ENODEV)) { // mqueue is not in every kernel
			return fmt.Errorf("mount /dev/%s: %w", m.name, err)
		}
	}
	links := map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0",
		"stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(dev, name)); err != nil {
			return err
		}
	}
	return nil
}

// makeFuse makes /dev/fuse, with which jobs mount the images of their containers.
// Every user may open it, whatever the host allows, except where the device can
// only be shown as it is.
func makeFuse(dev string) error {
	var st unix.Stat_t
	if err := unix.Stat("/dev/fuse", &st); err != nil {
		return nil // not in every kernel
	}
	at := filepath.Join(dev, "fuse")
	if err := unix.Mknod(at, unix.S_IFCHR|0o666, int(st.Rdev)); err != nil {
		return (Mount{Source: "/dev/fuse", Target: "/fuse"}).show(dev)
	}
	return os.Chmod(at, 0o666)
}

// show mounts b below top, and makes the mount point if it is missing.
func (b Mount) show(top string) error {
	info, err := os.Stat(b.Source)
	if err != nil {
		return err
	}
	target := filepath.Join(top, b.Target)
	if info.IsDir() {
		err = os.MkdirAll(target, 0o755)
	} else {
		err = touch(target)
	}
	if err != nil {
		return err
	}
	if err := unix.Mount(b.Source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	if b.ReadOnly {
		return readOnly(target)
	}
	return nil
}

// pivot makes top the root of the calling thread and lets go of the old one.
func pivot(top string) error {
	if err := unix.Chdir(top); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave old root: %w", err)
	}
	return unix.Chdir("/")
}

// readOnly makes a mount and all below it read-only.
func readOnly(target string) error {
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	return unix.MountSetattr(unix.AT_FDCWD, target, unix.AT_RECURSIVE, &attr)
}

// MakeDir makes a directory with exactly this mode, whatever the umask.
func MakeDir(path string, mode os.FileMode) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}

func touch(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// copyOwner gives a new upper layer the owner of what it covers. Owners that
// the user namespace does not know stay.
func copyOwner(from, to string) error {
	var st unix.Stat_t
	if err := unix.Stat(from, &st); err != nil {
		return err
	}
	err := unix.Chown(to, int(st.Uid), int(st.Gid))
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
		return nil
	}
	return err
}

// escape protects the characters that separate overlay options.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, ",", `\,`, ":", `\:`).Replace(path)
}
