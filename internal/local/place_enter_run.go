package local

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/sys/heed"
	"github.com/muster-hpc/muster/internal/sys/tie"
)

// EnteredBy is set for a program that a muster outside started on a machine of a cluster:
// to EnteredAgain for one that goes on with that muster's own command, which has said what
// there is to say outside.
const (
	EnteredBy    = "MUSTER_ENTERED"
	EnteredAgain = "again"
)

// entered is the value of EnteredBy.
func (e entrance) entered() string {
	if e.again {
		return EnteredAgain
	}
	return "1"
}

// run runs a command line that enters the cluster, and passes on how it ended. Signals
// to us are passed on to the program, but for those of the keyboard, which a terminal
// sends to the program itself.
func (e entrance) run(line []string) error {
	// The programs that wait for it must not be ended or stopped by the keyboard before it.
	// env(1) ignores the signals for them: signals that we ignored ourselves would be lost
	// for the program, too.
	line = append([]string{"/usr/bin/env", "--ignore-signal=INT,QUIT,TSTP"}, line...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(e.carried.Env, EnteredBy+"="+e.entered())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if e.input != nil {
		cmd.Stdin = bytes.NewReader(e.input)
	}
	if e.output != nil {
		cmd.Stdout = e.output
	}
	heard := make(chan os.Signal, 8)
	signal.Notify(heard, heed.Signals(append(slices.Clone(keyboard), syscall.SIGTERM, syscall.SIGHUP))...)
	defer signal.Stop(heard)
	var last os.Signal
	err := tie.Program{
		Cmd: cmd, Through: true, AtDeath: syscall.SIGTERM, Hear: heard,
		Pass: func(s os.Signal) bool {
			if s == syscall.SIGTSTP { // that program has stopped, and we do with it
				_ = unix.Kill(unix.Getpid(), unix.SIGSTOP)
				return false
			}
			last = s
			return !slices.Contains(keyboard, s) || !inForeground()
		},
	}.Run()
	return endOfEntered(err, last)
}

// keyboard are the signals that terminals send.
var keyboard = []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP}

// inForeground tells whether the terminal sends the keyboard's signals to us.
func inForeground() bool {
	terminal, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer terminal.Close()
	group, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// endOfEntered is how the program ended. nsenter and env end as it did, but with 1 if it
// was ended by a signal that they ignore.
func endOfEntered(err error, last os.Signal) error {
	ended := tie.Ended(err)
	var code fault.PassedOn
	if err == nil {
		return fault.PassedOn(0)
	}
	if errors.As(ended, &code) && code == 1 && (last == syscall.SIGINT || last == syscall.SIGQUIT) {
		return fault.PassedOn(128 + int(last.(syscall.Signal)))
	}
	return ended
}
