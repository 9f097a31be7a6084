package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/muster-hpc/muster/internal/aws"
	"github.com/muster-hpc/muster/internal/aws/connect"
	"github.com/muster-hpc/muster/internal/fault"
	"github.com/muster-hpc/muster/internal/services"
)

// entrance is how a command gets to the head node of a cluster on AWS.
func (w where) entrance(a *app) aws.Entrance {
	return aws.Entrance{Home: w.home, Record: w.record, Note: a.note}
}

// enterAWS becomes a program on the head node of a cluster on AWS.
func (a *app) enterAWS(ctx context.Context, w where, o connect.Options, use connect.Use, program []string) error {
	way, muster, err := w.entrance(a).Open(ctx, o)
	if err != nil {
		return err
	}
	return runSSH(ctx, way.Run(use, aws.Entered(muster, program)...))
}

// runSSH runs a command line with our input and output, and passes its exit code on.
// One that was stopped with us was stopped, whatever it says.
func runSSH(ctx context.Context, line []string) error {
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	err := cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return endOf(err)
}

// use is how a command of ours uses its terminal: as one if there is one at both
// ends. Else it reads nothing, and leaves our input to others.
func (a *app) use() connect.Use {
	terminal := a.terminal()
	return connect.Use{Terminal: terminal, NoInput: !terminal}
}

// terminal tells whether somebody types and reads here.
func (a *app) terminal() bool {
	in, isIn := a.in.(*os.File)
	out, isOut := a.out.(*os.File)
	return isIn && isOut && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
}

// forwarded makes a command one that runs on the head node if the cluster is on AWS:
// the same command line is run again there.
func (a *app) forwarded(run func(c *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		if inside() {
			return run(c, args)
		}
		w, err := a.find("")
		if err != nil {
			return err
		}
		if w.place == onAWS {
			return a.forward(c.Context(), w, os.Args[1:])
		}
		return run(c, args)
	}
}

// forward runs a command line of ours on the head node of a cluster on AWS.
func (a *app) forward(ctx context.Context, w where, args []string) error {
	return a.enterAWS(ctx, w, connect.Options{}, a.use(), append([]string{services.Muster}, args...))
}

// localOnly refuses what only clusters on this machine have.
func (a *app) localOnly(why string) error {
	if w, err := a.find(""); err == nil && w.place == onAWS {
		return fmt.Errorf("cluster %s is on AWS: %s", w.name, why)
	}
	return nil // what else is wrong, whoever opens the cluster will say
}

// turnInto replaces this program by another, which has its input and its output.
func turnInto(line, env []string) error {
	path, err := exec.LookPath(line[0])
	if err != nil {
		return fmt.Errorf("run %s: %w", line[0], err)
	}
	err = syscall.Exec(path, line, env)
	return fmt.Errorf("run %s: %w", path, err)
}

// endOf passes on how a program ended, as a shell does.
func endOf(err error) error {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fault.PassedOn(128 + int(status.Signal()))
	}
	return fault.PassedOn(exit.ExitCode())
}
