package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/muster-hpc/muster/internal/aws"
	"github.com/muster-hpc/muster/internal/aws/connect"
	"github.com/muster-hpc/muster/internal/services"
)

// way finds the way to the head node of a cluster on AWS. A connection that is open
// is taken without asking AWS.
func (a *app) way(ctx context.Context, w where, o connect.Options) (connect.Way, error) {
	way, err := a.headWay(ctx, w, o)
	if err != nil {
		return way, err
	}
	return a.chooseWay(ctx, way)
}

// headWay finds the head node.
func (a *app) headWay(ctx context.Context, w where, o connect.Options) (connect.Way, error) {
	way := connect.Way{Want: o, At: aws.PlaceOf(w.home, w.name)}
	way.At.Sockets = connect.Sockets(os.Getenv("XDG_RUNTIME_DIR"), os.TempDir())
	if home, err := os.UserHomeDir(); err == nil {
		way.Keys = filepath.Join(home, ".ssh")
	}
	if known, ok := way.At.Recall(); ok && o == (connect.Options{}) {
		way.Head, way.Open = known, true
		return way, nil
	}
	acc, err := w.accountOf(ctx)
	if err == nil {
		way.Head, err = aws.HeadOf(ctx, acc, w.record)
	}
	return way, err
}

// chooseWay keeps the keys of the head node and finds out whether SSH gets there by
// itself.
func (a *app) chooseWay(ctx context.Context, way connect.Way) (connect.Way, error) {
	if way.Open {
		return way, nil
	}
	if err := way.At.Keep(way.Head); err != nil {
		return way, fmt.Errorf("%w; `muster status --cluster %s` shows its boot, `muster ssh --ssm` enters it by Session Manager", err, way.Cluster)
	}
	if way.KeyName == "" && way.Want.Identity == "" {
		a.note("the head node has no key pair: SSH lets in only those whose key its image or a custom action brought")
	}
	if cmp.Or(way.Want.User, way.User) == "" {
		return way, errors.New("the head node has not said yet as whom people log in; say it with `muster ssh --user NAME`")
	}
	session, err := way.Choose(way.Want, way.Look(ctx, way.Want, append(way.Line(), way.Name())))
	if err != nil || !session {
		return way, err
	}
	self, err := os.Executable()
	way.Proxy = []string{self, "agent", "session", "--region", way.Region, way.Instance}
	return way, err
}

// enterAWS becomes a program on the head node of a cluster on AWS.
func (a *app) enterAWS(ctx context.Context, w where, o connect.Options, use connect.Use, program []string) error {
	way, err := a.way(ctx, w, o)
	if err != nil {
		return err
	}
	muster, err := a.musterAt(ctx, w, way)
	if err != nil {
		return err
	}
	return runSSH(ctx, way.Run(use, entered(muster, program)...))
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

// entered is the command line by which the muster on the head node runs a program for
// somebody elsewhere.
// muster is where that is.
func entered(muster string, program []string) []string {
	if program[0] == services.Muster {
		program = append([]string{muster}, program[1:]...)
	}
	return append([]string{muster, "agent", "enter", "--"}, program...)
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
		return passedOn(128 + int(status.Signal()))
	}
	return passedOn(exit.ExitCode())
}
