package container

import (
	"encoding/binary"
	"encoding/hex"

	"golang.org/x/sys/unix"
)

// A container has one user, so files cannot be given to another. Package managers try it
// all the same and fail if it is refused: a filter of system calls pretends success. It is
// no protection.

// filter is the program for an architecture: success without deed for the given
// calls, and for the guarded ones unless their first argument is -1, which only
// asks.
func filter(arch uint32, faked, guarded []uint32) []unix.SockFilter {
	const (
		load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		answer = unix.BPF_RET | unix.BPF_K
		// Places in struct seccomp_data.
		numberAt, archAt, firstAt = 0, 4, 16
		// SECCOMP_RET_*.
		allow, errno0 = 0x7fff0000, 0x00050000
	)
	// Behind the jumps stand: load argument, compare it, allow, fake.
	n := len(faked) + len(guarded)
	code := []unix.SockFilter{
		{Code: load, K: archAt},
		{Code: equal, K: arch, Jf: uint8(n + 1)},
		{Code: load, K: numberAt},
	}
	for i, nr := range faked {
		// Counted from the next one: what is left of the jumps, then allow (after
		// the jumps), load, compare, allow.
		code = append(code, unix.SockFilter{Code: equal, K: nr, Jt: uint8(n - i - 1 + 4)})
	}
	for i, nr := range guarded {
		code = append(code, unix.SockFilter{Code: equal, K: nr, Jt: uint8(len(guarded) - i - 1 + 1)})
	}
	return append(code,
		unix.SockFilter{Code: answer, K: allow},
		unix.SockFilter{Code: load, K: firstAt},
		unix.SockFilter{Code: equal, K: ^uint32(0), Jf: 1},
		unix.SockFilter{Code: answer, K: allow},
		unix.SockFilter{Code: answer, K: errno0},
	)
}

// filterBytes is a filter as the kernel wants it in memory.
func filterBytes(code []unix.SockFilter) []byte {
	b := make([]byte, 0, 8*len(code))
	for _, c := range code {
		b = binary.NativeEndian.AppendUint16(b, c.Code)
		b = append(b, c.Jt, c.Jf)
		b = binary.NativeEndian.AppendUint32(b, c.K)
	}
	return b
}

// seccompHex is the filter for this machine, as hexadecimal digits. It is empty
// for architectures that have none.
func seccompHex() string { return hex.EncodeToString(filterBytes(nativeFilter())) }
