// Package ram gives tests directories in memory. Bringing a file to the disk takes milliseconds, and a test that cuts a program
// after each of its steps writes thousands: whether the disk keeps them is not what it asks.
package ram

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// at is where Linux has a file system in memory that everybody may write.
const at = "/dev/shm"

// leastBytes is what must be free there, or a test gets a directory on the disk: containers often have 64 MiB.
const leastBytes = 32 << 20

// Dir returns a new directory in memory, or on the disk where there is no memory for it. It goes with the test.
func Dir(t testing.TB) string {
	t.Helper()
	if !roomy() {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(at, "muster-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func roomy() bool {
	var fs unix.Statfs_t
	err := unix.Statfs(at, &fs)
	return err == nil && fs.Type == unix.TMPFS_MAGIC && fs.Bavail*uint64(fs.Bsize) >= leastBytes
}
