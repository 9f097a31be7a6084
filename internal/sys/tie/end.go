package tie

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"

	"github.com/muster-hpc/muster/internal/say/fault"
)

// Ended passes on how a program ended, as a shell does. Any other error it leaves as it is.
func Ended(err error) error {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fault.PassedOn(128 + int(status.Signal()))
	}
	return fault.PassedOn(exit.ExitCode())
}

// Become replaces this program by another, which has its input and its output.
func Become(line, env []string) error {
	path, err := exec.LookPath(line[0])
	if err != nil {
		return fmt.Errorf("run %s: %w", line[0], err)
	}
	err = syscall.Exec(path, line, env)
	return fmt.Errorf("run %s: %w", path, err)
}
