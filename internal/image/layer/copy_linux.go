package layer

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// writeOutStep is how many bytes are handed to the disk at once while a file
// is being written, so that its sync at the end is short.
const writeOutStep = 16 << 20

// writeOut starts writing [from, to) of a file to disk if that is enough, and
// returns what has been started. It is only advice.
func writeOut(f *os.File, from, to int64) int64 {
	if to-from < writeOutStep {
		return from
	}
	_ = unix.SyncFileRange(int(f.Fd()), from, to-from, unix.SYNC_FILE_RANGE_WRITE)
	return to
}

// copyRange copies n bytes between files, in the kernel where it can.
func copyRange(to *os.File, at int64, from *os.File, start, n int64) error {
	for n > 0 {
		src, dst := start, at
		m, err := unix.CopyFileRange(int(from.Fd()), &src, int(to.Fd()), &dst, int(min(n, 1<<30)), 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || m == 0 {
			return copyPlain(to, at, from, start, n)
		}
		start, at, n = start+int64(m), at+int64(m), n-int64(m)
	}
	return nil
}
