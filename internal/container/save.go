package container

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// save writes the container's root to a squashfs file, without the mounts in it. The file appears whole or not at all. It returns the file's path.
func (m *maker) save() (string, error) {
	to := m.absolute(m.o.Save)
	program, err := hostProgram("mksquashfs")
	if err != nil {
		return "", withHint(err, "install the package squashfs-tools")
	}
	if err := m.saveBy(program, to); err != nil {
		return "", fmt.Errorf("save the container: %w", err)
	}
	return to, nil
}

// absolute is a path that is relative to the user's directory.
func (m *maker) absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(m.o.Dir, path)
}

func (m *maker) saveBy(program, to string) error {
	// A directory of our own: a name in one of others' may be theirs already.
	dir, err := os.MkdirTemp(filepath.Dir(to), "."+filepath.Base(to)+".*.part")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	part := filepath.Join(dir, "root.sqsh")
	cmd := exec.Command(program, "/proc/self/fd/3/.", part,
		"-comp", "zstd", "-Xcompression-level", "1", "-all-root", "-noappend", "-no-progress", "-quiet", "-no-recovery", "-exit-on-error")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	// A process that was root may not write its own /proc, where the maps are.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
		return err
	}
	cmd.ExtraFiles = []*os.File{m.saveRoot}
	// As root of a user namespace of its own it reads all that is the user's.
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Setsid: true, Cloneflags: syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: m.o.User.UID, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: m.o.User.GID, Size: 1}},
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, lastLine(said.String()))
	}
	if err := m.seal(part); err != nil {
		return err
	}
	return os.Rename(part, to)
}

// seal finishes the file and brings it to the disk.
func (m *maker) seal(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if m.o.Seal != nil {
		if err := m.o.Seal(f); err != nil {
			return err
		}
	}
	return f.Sync()
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
