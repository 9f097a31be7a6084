package data_test

import "syscall"

// mountSmall mounts a file system of 8 MiB.
func mountSmall(at string) error { return syscall.Mount("tmpfs", at, "tmpfs", 0, "size=8m") }

func widen(at string) error {
	return syscall.Mount("tmpfs", at, "tmpfs", syscall.MS_REMOUNT, "size=64m")
}

func unmount(at string) error { return syscall.Unmount(at, syscall.MNT_DETACH) }
