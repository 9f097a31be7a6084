// Package thread runs functions on operating-system threads of their own, which may
// leave namespaces and change users without the process noticing.
package thread

import (
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// Do runs f on an operating-system thread of its own that has left the
// process's file-system state and the namespaces in flags. The thread ends with
// f, so whatever it made that no process holds goes with it. f and everything
// it calls must stay on its goroutine.
func Do(flags int, f func() error) error {
	done := make(chan error, 1)
	go alone(flags, f, done)
	return <-done
}

func alone(flags int, f func() error, done chan<- error) {
	runtime.LockOSThread() // and never unlock: a thread in strange namespaces is not reused
	if unix.Gettid() == os.Getpid() {
		// The main thread stands for the process in /proc. Keep it as it is and
		// hold it while another thread does the work.
		done <- Do(flags, f)
		runtime.UnlockOSThread()
		return
	}
	if err := unix.Unshare(unix.CLONE_FS | flags); err != nil {
		done <- fmt.Errorf("leave namespaces: %w", err)
		return
	}
	done <- f()
}

// Off runs f for a caller inside Do in the process's own namespaces.
func Off(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return <-done
}

// Hold runs start on a thread that stays until release is called. What start starts to
// end with its parent (Pdeathsig) ends with the thread that started it, and the
// process's threads may end before the process does. Release is there only without an
// error, and is called once.
func Hold(start func() error) (release func(), err error) {
	started, over := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := start()
		started <- err
		if err == nil {
			<-over
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return func() { close(over) }, nil
}
