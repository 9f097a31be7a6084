package container

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// What follows runs in the forked process. There the other threads of the Go
// runtime are missing, so none of it may grow the stack, allocate or wait for
// a lock: every function is nosplit, and all it does is system calls.

// fork makes a remote that keeps two files open, which may be the same; it returns in
// this process only.
//
//go:norace
//go:noinline
//go:nosplit
func fork(sock, keep uintptr, h *header, calls []call) (pid uintptr, errno syscall.Errno) {
	pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 || pid != 0 {
		return pid, errno
	}
	low, high := sock, keep
	if low > high {
		low, high = high, low
	}
	// Where there is nothing between, the kernel takes the range for a mistake.
	syscall.RawSyscall(unix.SYS_CLOSE_RANGE, 3, low-1, 0)
	syscall.RawSyscall(unix.SYS_CLOSE_RANGE, low+1, high-1, 0)
	syscall.RawSyscall(unix.SYS_CLOSE_RANGE, high+1, ^uintptr(0), 0)
	serve(sock, h, calls)
	return 0, 0
}

// serve makes programs until the other end of the socket is closed.
//
//go:norace
//go:nosplit
func serve(sock uintptr, h *header, calls []call) {
	for {
		n, _, errno := syscall.RawSyscall(unix.SYS_READ, sock, wordAt(h), 1)
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 || n != 1 {
			break
		}
		perform(h, calls, 0)
		syscall.RawSyscall(unix.SYS_WRITE, sock, wordAt(h), 1)
	}
	if h.will != 0 {
		perform(h, calls, h.will)
	}
	for {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
}

// perform makes the calls from one on, up to the first that fails.
//
//go:norace
//go:nosplit
func perform(h *header, calls []call, from uintptr) {
	forked := false // this is a process that the program has made
	for i := from; i < h.count && i < uintptr(len(calls)); i++ {
		c := &calls[i]
		if !forked {
			h.at = i
		}
		var a [6]uintptr
		for j := range a {
			a[j] = c.args[j]
			if a[j]&^refMask == refBase && a[j]&refMask < i {
				a[j] = calls[a[j]&refMask].result
			}
		}
		r, _, errno := syscall.RawSyscall6(c.nr, a[0], a[1], a[2], a[3], a[4], a[5])
		for again := 0; c.nr == unix.SYS_OPENAT2 && errno == unix.EAGAIN && again < 10000; again++ {
			// A file was renamed or mounted on this machine meanwhile.
			r, _, errno = syscall.RawSyscall6(c.nr, a[0], a[1], a[2], a[3], a[4], a[5])
		}
		if c.skip != 0 && errno == 0 && r == 0 {
			forked = true // the memory is shared: the result is for the one that forked
			continue
		}
		c.result, c.errno = r, uintptr(errno)
		if errno != 0 && c.mayFail == 0 {
			break
		}
		i += c.skip
		if i >= h.count-1 && !forked {
			h.at = h.count
		}
	}
	if forked {
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, 127, 0, 0)
	}
}
