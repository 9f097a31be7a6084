//go:build linux

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/sys/tie"
)

// agentEnter runs a program for a user who came by SSH. Without a terminal, SSH's server
// lets a program run on when its connection ends; agentEnter ends it.
func (a *app) agentEnter() *cobra.Command {
	return &cobra.Command{
		Use:   "enter -- PROGRAM [ARG...]",
		Short: "Runs a program on a head node for somebody elsewhere",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			path, err := exec.LookPath(args[0])
			if err != nil {
				fmt.Fprintf(a.err, "muster: run %s on the head node: %v\n", args[0], errors.Unwrap(err))
				return fault.Exit(cannotRun(err))
			}
			return runTied(c.Context(), path, args)
		},
	}
}

// cannotRun is a shell's exit code for a program that cannot be run.
func cannotRun(err error) int {
	if errors.Is(err, os.ErrPermission) {
		return 126
	}
	return 127
}

// gentle is how long a program has to end before it is killed.
const gentle = 5 * time.Second

// runTied runs a program until it ends, or until the readers of its output have gone. On
// a terminal, the program hears of both by itself.
func runTied(ctx context.Context, path string, args []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.Command(path, args[1:]...)
	cmd.Args[0] = args[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if term.IsTerminal(int(os.Stdin.Fd())) {
		return tie.Ended(cmd.Run())
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	go watchReaders(ctx, cancel, int(os.Stdout.Fd()), int(os.Stderr.Fd()))
	select {
	case err := <-ended:
		return tie.Ended(err)
	case <-ctx.Done():
	}
	_ = unix.Kill(-cmd.Process.Pid, unix.SIGTERM) // it may have ended just now
	select {
	case <-ended:
	case <-time.After(gentle):
		_ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
		<-ended
	}
	return fault.Exit(fault.ExitInterrupted)
}

// watchReaders calls gone when one of the descriptors has no reader any more: a connection
// that others share may keep the other one open.
func watchReaders(ctx context.Context, gone func(), descriptors ...int) {
	for ctx.Err() == nil {
		var fds []unix.PollFd
		for _, fd := range descriptors {
			fds = append(fds, unix.PollFd{Fd: int32(fd)})
		}
		n, err := unix.Poll(fds, int(time.Second/time.Millisecond))
		if err == nil && n > 0 {
			gone() // events are hang-up and error alone
		}
	}
}
