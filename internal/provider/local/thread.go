package local

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// onThread runs f on an operating-system thread of its own that has left the
// process's file-system state and the namespaces in flags. The thread ends with
// f, so whatever it made that no process holds goes with it. f and everything
// it calls must stay on its goroutine.
func onThread(flags int, f func() error) error {
	done := make(chan error, 1)
	go threadMain(flags, f, done)
	return <-done
}

func threadMain(flags int, f func() error, done chan<- error) {
	runtime.LockOSThread() // and never unlock: a thread in strange namespaces is not reused
	if unix.Gettid() == os.Getpid() {
		// The main thread stands for the process in /proc. Keep it as it is and
		// hold it while another thread does the work.
		done <- onThread(flags, f)
		runtime.UnlockOSThread()
		return
	}
	if err := unix.Unshare(unix.CLONE_FS | flags); err != nil {
		done <- fmt.Errorf("leave namespaces: %w", err)
		return
	}
	done <- f()
}

// offThread runs f for a caller inside onThread in the process's own namespaces.
func offThread(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return <-done
}
