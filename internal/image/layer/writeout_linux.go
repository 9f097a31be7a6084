package layer

import (
	"os"

	"golang.org/x/sys/unix"
)

// writeOutStep is how many bytes are handed to the disk at once while a file
// is being written, so that its sync at the end is short.
const writeOutStep = 8 << 20

// writeOut starts writing [from, to) of a file to disk if that is enough, and
// returns what has been started. It is only advice.
func writeOut(f *os.File, from, to int64) int64 {
	if to-from < writeOutStep {
		return from
	}
	_ = unix.SyncFileRange(int(f.Fd()), from, to-from, unix.SYNC_FILE_RANGE_WRITE)
	return to
}
