package clean

import "golang.org/x/sys/unix"

// mountNumber tells a mount from others of the same file system.
func mountNumber(fd int) uint64 {
	var s unix.Statx_t
	err := again(func() error { return unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &s) })
	if err != nil || s.Mask&unix.STATX_MNT_ID == 0 {
		return 0 // before Linux 5.8
	}
	return s.Mnt_id
}
