package container

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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

// broken is closed when squashfuse has died.
func (m *maker) broken() <-chan struct{} {
	if m.fuse == nil {
		return nil
	}
	return m.fuse.ended
}

// complain says that squashfuse has died and ends what cannot live without it.
func (m *maker) complain() {
	fmt.Fprintf(os.Stderr, "muster: %v; the container's processes are killed\n", m.fuse.problem())
	if err := m.space.killAll(m.r.pid); err != nil {
		fmt.Fprintf(os.Stderr, "muster: %v\n", err)
	}
	_ = unix.Kill(m.r.pid, unix.SIGKILL)
}

// finish removes the container. If other processes have joined it, it goes on without
// us.
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
	if m.space != nil && alone {
		errs = append(errs, m.space.killAll(holder))
	}
	if m.space != nil {
		errs = append(errs, m.dismiss(), m.space.close())
	}
	if m.r != nil {
		errs = append(errs, m.r.close())
		if !m.reaped {
			_ = unix.Kill(m.r.pid, unix.SIGKILL)
			errs = append(errs, reap(m.r.pid))
		}
	}
	if m.guard != nil { // it ends beside the container's process
		errs = append(errs, reap(m.guard.pid))
	}
	if m.fuse != nil && alone {
		errs = append(errs, m.fuse.finish())
	}
	return errors.Join(append(errs, m.discard())...)
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
