package container

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// raiseLoopback sets up the one interface of a new network namespace.
func (p *program) raiseLoopback() {
	// struct ifreq: a name of 16 bytes, then the flags.
	request := make([]byte, 40)
	copy(request, "lo")
	binary.NativeEndian.PutUint16(request[16:], unix.IFF_UP|unix.IFF_RUNNING)
	s := p.call("make socket", unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	p.call("set up the loopback interface", unix.SYS_IOCTL, s, unix.SIOCSIFFLAGS, p.data(request))
	p.close(s)
}
