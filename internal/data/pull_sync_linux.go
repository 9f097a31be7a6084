package data

import (
	"os"

	"golang.org/x/sys/unix"
)

// settle has the file system of a directory write down what it holds back.
func settle(dir *os.File) error { return unix.Syncfs(int(dir.Fd())) }
