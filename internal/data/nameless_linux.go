package data

import (
	"os"

	"golang.org/x/sys/unix"
)

// unnamed makes a file that never has a name: open(2), O_TMPFILE. NFS and some others have none.
func unnamed(dir string) (*os.File, error) {
	return os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, 0o600)
}
