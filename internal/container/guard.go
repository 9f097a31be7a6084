package container

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A guard ends what runs in a container if this process is killed and cannot do so
// itself: its last will is to become the program's command for that.

// SweepCommand are the words on the command line of this program that must lead to
// Sweep, with the further words as arguments.
var SweepCommand = [2]string{"container", "sweep"}

// newGuard makes the guard of a container that was made. With the file of a step whose
// tasks are in it, the guard lets them go on until the step is over.
func (m *maker) newGuard(step *os.File) error {
	g, err := newRemoteWith(step)
	if err != nil {
		return err
	}
	m.guard = g
	p := g.program()
	p.call("leave the session", unix.SYS_SETSID)
	p.hush()
	// It stays open in the next program.
	open := p.call("open the container's mounts", unix.SYS_OPENAT, here, p.text("/proc/"+strconv.Itoa(m.member())+"/ns/mnt"), unix.O_RDONLY, 0)
	results, err := g.do(p)
	if err != nil {
		return err
	}
	users := ""
	if m.entry != nil {
		users = filepath.Join(m.entry.dir, "users")
	}
	p = g.program()
	p.call("nothing", unix.SYS_GETPID) // a will of 0 means none
	if step != nil {
		hangup := unix.PollFd{Fd: int32(step.Fd())} // which needs not be asked for
		p.call("wait for the step's end", unix.SYS_PPOLL, p.data(unsafe.Slice((*byte)(unsafe.Pointer(&hangup)), unsafe.Sizeof(hangup))), 1, 0, 0, 0)
	}
	p.call("set signal mask", unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, p.data(make([]byte, 8)), 0, 8)
	p.call("sweep", unix.SYS_EXECVE, p.text("/proc/self/exe"),
		p.texts([]string{"muster", SweepCommand[0], SweepCommand[1], strconv.Itoa(at(results, open).value), users}), p.texts([]string{"PATH=/usr/bin:/bin"}))
	if p.full {
		return errors.New("make a guard: no room")
	}
	g.page.head.will, g.page.head.count = 1, uintptr(len(p.what))
	return nil
}

// member is a process in the container.
func (m *maker) member() int {
	if m.joined {
		return m.kept.PID
	}
	return m.r.pid
}

// dismiss lets the guard end without its will. The caller reaps it.
func (m *maker) dismiss() error {
	if m.guard == nil {
		return nil
	}
	m.guard.page.head.will = 0
	return m.guard.close()
}

// hush takes the standard streams away.
func (p *program) hush() {
	null := p.call("open /dev/null", unix.SYS_OPENAT, here, p.text("/dev/null"), unix.O_RDWR|unix.O_CLOEXEC, 0)
	for std := range uintptr(3) {
		p.call("close standard streams", unix.SYS_DUP3, null, std, 0)
	}
	p.close(null)
}
