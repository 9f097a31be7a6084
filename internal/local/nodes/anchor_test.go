package nodes

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAnchor_closes_files_of_the_caller(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const from = 200 // above all that the test's own process was given
	theirs, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD, from)
	if err != nil {
		t.Fatal(err)
	}
	own, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, from)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(own)
	if err := closeInherited(from); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(uintptr(theirs), unix.F_GETFD, 0); err != unix.EBADF {
		t.Errorf("the caller's file is open: %v", err)
	}
	if _, err := unix.FcntlInt(uintptr(own), unix.F_GETFD, 0); err != nil {
		t.Errorf("its own file is closed: %v", err)
	}
}
