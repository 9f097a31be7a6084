// Package tie runs programs that end when their caller does, whatever way that is.
//
// A signal that the caller hears is passed on to the program and to all that it has
// started and that has not left it, as daemons do. Where the caller dies without
// hearing anything, a process that watches over it ends them. Systems other than Linux
// have no more than the first, for the program alone.
package tie

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Program is a program to run.
type Program struct {
	Cmd *exec.Cmd
	// Through says that the program only waits for another one, which it has started,
	// and ends as that does: it hears nothing itself.
	Through bool
	// AtDeath is the signal that the program and all that it has started get when the caller
	// dies. They are killed a little later.
	AtDeath syscall.Signal
	// Hear delivers the signals to pass on. If there is Pass, it chooses among them.
	Hear <-chan os.Signal
	Pass func(os.Signal) bool
}

// Run runs the program to its end. The caller's other goroutines go on.
func (p Program) Run() error {
	started, ended := make(chan error), make(chan error, 1)
	go p.hold(started, ended)
	if err := <-started; err != nil {
		return err
	}
	for {
		select {
		case err := <-ended:
			return err
		case s := <-p.Hear:
			if number, ok := s.(syscall.Signal); ok && (p.Pass == nil || p.Pass(s)) {
				p.tell(number)
			}
		}
	}
}

// gentle is how long a program has to end before it is killed.
const gentle = 5 * time.Second

// RunUntil is Run until the context ends. Then the program and all that it has started get
// AtDeath, and are killed a little later.
func (p Program) RunUntil(ctx context.Context) error {
	hear, done := make(chan os.Signal, 2), make(chan struct{})
	p.Hear = hear
	var wait sync.WaitGroup
	wait.Go(func() {
		select {
		case <-done:
			return
		case <-ctx.Done():
			hear <- p.AtDeath
		}
		select {
		case <-done:
		case <-time.After(gentle):
			hear <- syscall.SIGKILL
		}
	})
	err := p.Run()
	close(done)
	wait.Wait()
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
