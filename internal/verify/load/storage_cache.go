//go:build linux

package load

import (
	"os"
	"syscall"
	"unsafe"
)

// fadvDontNeed is POSIX_FADV_DONTNEED, the same number on amd64 and arm64.
const fadvDontNeed = 4

// forget drops a file from the page cache, as far as the kernel likes. Its success is what cached tells.
func forget(f *os.File) {
	_, _, _ = syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, fadvDontNeed, 0, 0)
}

// cached is which part of a file is in this machine's memory, -1 if the kernel does not tell.
func cached(f *os.File) float64 {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return -1
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return -1
	}
	defer func() { _ = syscall.Munmap(data) }()
	pages := make([]byte, (len(data)+os.Getpagesize()-1)/os.Getpagesize())
	_, _, errno := syscall.Syscall(syscall.SYS_MINCORE, uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)), uintptr(unsafe.Pointer(&pages[0])))
	if errno != 0 {
		return -1
	}
	in := 0
	for _, p := range pages {
		in += int(p & 1)
	}
	return float64(in) / float64(len(pages))
}
