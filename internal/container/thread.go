package container

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// onThread runs f on an operating-system thread of its own that has left the
// namespaces in flags and the process's file-system state. The thread ends with f.
func onThread(flags int, f func() error) error {
	done := make(chan error, 1)
	go threadMain(flags, f, done)
	return <-done
}

func threadMain(flags int, f func() error, done chan<- error) {
	runtime.LockOSThread() // and never unlock: a thread in strange namespaces is not reused
	if unix.Gettid() == os.Getpid() {
		// The main thread stands for the process in /proc: another does the work.
		done <- onThread(flags, f)
		runtime.UnlockOSThread()
		return
	}
	if flags != 0 {
		if err := unix.Unshare(unix.CLONE_FS | flags); err != nil {
			done <- fmt.Errorf("leave namespaces: %w", err)
			return
		}
	}
	done <- f()
}

// offThread runs f for a caller inside onThread in the process's own namespaces.
func offThread(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return <-done
}
