package container

import "golang.org/x/sys/unix"

// nativeFilter leaves programs of 32 bits alone.
func nativeFilter() []unix.SockFilter {
	return filter(unix.AUDIT_ARCH_AARCH64, []uint32{
		unix.SYS_FCHOWN, unix.SYS_FCHOWNAT,
		unix.SYS_SETUID, unix.SYS_SETGID, unix.SYS_SETREUID, unix.SYS_SETREGID,
		unix.SYS_SETRESUID, unix.SYS_SETRESGID, unix.SYS_SETGROUPS,
	}, []uint32{unix.SYS_SETFSUID, unix.SYS_SETFSGID})
}
