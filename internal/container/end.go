package container

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// numbers is a list of 64-bit numbers in memory.
func numbers(list ...uint64) []byte {
	var b []byte
	for _, n := range list {
		b = binary.NativeEndian.AppendUint64(b, n)
	}
	return b
}

// endWait is longer than the kernel needs to end a process that is not stuck.
const endWait = 5 * time.Second

// complain says that squashfuse has died and ends what cannot live without it.
func (m *maker) complain() {
	fmt.Fprintf(os.Stderr, "muster: %v; the container's processes are killed\n", m.fuse.problem())
	if err := killAll(m.space, m.r.pid); err != nil {
		fmt.Fprintf(os.Stderr, "muster: %v\n", err)
	}
	_ = unix.Kill(m.r.pid, unix.SIGKILL)
}

// finish takes away what is left of the container. One that others have joined goes on
// without us.
func (m *maker) finish() error {
	var errs []error
	alone := m.entry == nil || m.entry.last()
	if m.image != nil {
		errs = append(errs, m.image.Close())
	}
	if m.saveRoot != nil {
		errs = append(errs, m.saveRoot.Close())
	}
	holder := 0
	if m.r != nil {
		holder = m.r.pid
	}
	if m.space != "" && alone {
		errs = append(errs, killAll(m.space, holder))
	}
	if m.r != nil {
		errs = append(errs, m.r.close())
		if !m.reaped {
			_ = unix.Kill(m.r.pid, unix.SIGKILL)
			errs = append(errs, reap(m.r.pid))
		}
	}
	if m.fuse != nil && alone {
		errs = append(errs, m.fuse.finish())
	}
	return errors.Join(append(errs, m.dismiss(), m.discard())...)
}

// finish waits for the end that squashfuse takes when nothing of its image is mounted
// any more.
func (s *fuseServer) finish() error {
	select {
	case <-s.ended:
		return nil
	case <-time.After(endWait):
	}
	err := s.cmd.Process.Kill()
	<-s.ended
	return err
}

// mountSpace names the mount namespace of a process.
func mountSpace(pid int) (string, error) {
	return os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/mnt")
}

// killAll ends every process in a mount namespace but one, and waits for them.
func killAll(space string, but int) error {
	for end := time.Now().Add(endWait); ; {
		left, err := residents(space, but)
		if err != nil || len(left) == 0 {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d processes of the container do not end", len(left))
		}
		for _, pid := range left {
			kill(pid, space)
		}
	}
}

// residents are the processes in a mount namespace, as far as the caller may see it.
func residents(space string, but int) ([]int, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []int
	for _, n := range names {
		pid, err := strconv.Atoi(n)
		if err != nil || pid == but {
			continue
		}
		if s, err := mountSpace(pid); err == nil && s == space {
			all = append(all, pid)
		}
	}
	return all, nil
}

// kill ends a process if it is still one of the namespace, and gives it a moment.
func kill(pid int, space string) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // it has ended
	}
	defer unix.Close(fd)
	if s, err := mountSpace(pid); err != nil || s != space {
		return
	}
	_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 100)
}

// removeTree removes a directory of the user's with all in it, whatever its modes: the
// kernel itself makes directories without rights in an overlay's work directory.
func removeTree(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // before it is read
		}
		return nil
	})
	return os.RemoveAll(dir)
}
