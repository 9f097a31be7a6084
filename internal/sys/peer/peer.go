// Package peer finds the user at the other end of a socket of this machine.
package peer

import (
	"net"

	"golang.org/x/sys/unix"
)

// UID is the user who connected, as the kernel knows him, -1 if unknown.
func UID(conn net.Conn) int {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return -1
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return -1
	}
	uid := -1
	_ = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			uid = int(cred.Uid)
		}
	})
	return uid
}
