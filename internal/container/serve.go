package container

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/image/squashfs"
	"github.com/muster-hpc/muster/internal/sys/thread"
)

// mountImage mounts the image where that takes root, if it is to be.
func (m *maker) mountImage() error {
	info, err := squashfs.Probe(m.image)
	if err != nil && !errors.Is(err, squashfs.ErrCompression) {
		return fmt.Errorf("%s: %w", m.o.Image, err)
	}
	m.base = "/tmp"
	if !m.root {
		return nil
	}
	m.base, m.lower = runDir+"/root", runDir+"/image"
	for _, d := range []string{m.base, m.lower} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	why := m.distrust(info)
	if why == "" {
		err := mountByKernel(m.image, m.lower, m.o.User)
		if err == nil {
			m.mounted, m.kernel = true, true
			return nil
		}
		why = err.Error()
	}
	m.verbose("squashfuse reads the image, not the kernel: " + why)
	return m.fuseByRoot()
}

func (m *maker) distrust(info squashfs.Info) string {
	from, err := lookAtOrigin(m.image, info)
	if err != nil {
		return err.Error()
	}
	return from.distrust()
}

func (m *maker) verbose(text string) {
	if m.o.Verbose {
		m.notice(text)
	}
}

func (m *maker) notice(text string) {
	if m.o.Notice != nil {
		m.o.Notice(text)
	}
}

// fuseByRoot mounts for squashfuse where the user may not open /dev/fuse himself,
// as fusermount would.
func (m *maker) fuseByRoot() error {
	p := m.r.program()
	f := p.allow(p.open("/dev/fuse", unix.O_RDWR))
	p.close(f)
	results, err := m.r.do(p)
	if err != nil || at(results, f).errno == 0 {
		return err
	}
	dev, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return noFuse(err)
	}
	defer dev.Close()
	data := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d,default_permissions", dev.Fd(), m.o.User.UID, m.o.User.GID)
	if err := unix.Mount("squashfuse", m.lower, "fuse.squashfuse", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_RDONLY, data); err != nil {
		return fmt.Errorf("mount image by FUSE: %w", err)
	}
	m.mounted = true
	return thread.Off(func() error {
		m.fuse, err = startFuse(m.image, dev, m.o.User.UID, m.o.User.GID, m.o.User, m.heard)
		return err
	})
}

func noFuse(err error) error {
	return withHint(fmt.Errorf("read the image: %w", err), "`muster doctor` sees to /dev/fuse; or as root: chmod 666 /dev/fuse")
}

// serveImage mounts the image by FUSE in the container's namespaces, unless it is
// mounted.
func (m *maker) serveImage() error {
	if m.mounted {
		return nil
	}
	uid, gid := m.inside()
	p := m.r.program()
	const dev = 901
	f := p.open("/dev/fuse", unix.O_RDWR)
	p.call("keep /dev/fuse", unix.SYS_DUP3, f, dev, unix.O_CLOEXEC)
	p.close(f)
	p.mount("squashfuse", m.lower, "fuse.squashfuse", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_RDONLY,
		fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d,default_permissions", dev, uid, gid))
	p.send(m.r, dev)
	if _, err := m.r.do(p); err != nil {
		return noFuse(err)
	}
	file, err := m.r.receive()
	if err != nil {
		return err
	}
	defer file.Close()
	return thread.Off(func() error {
		m.fuse, err = startFuse(m.image, file, uid, gid, m.o.User, m.heard)
		return err
	})
}

// served explains an error by squashfuse's own, if that has ended.
func (m *maker) served(err error) error {
	if m.fuse == nil {
		return err
	}
	select {
	case <-m.fuse.ended:
		return fmt.Errorf("%w (%w)", err, m.fuse.problem())
	default:
		return err
	}
}
