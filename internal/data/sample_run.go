package data

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/muster-hpc/muster/internal/sys/tie"
)

// Validator is a program that judges the files of a directory: it gets `--data-dir DIR` and MUSTER_SAMPLE_DIR.
type Validator struct {
	Command string // a program's path, or a line for a shell
	Dir     string
	Out     io.Writer // of all that it says
}

// Run runs the validator to its end. It is an error if it does not end well.
func (v Validator) Run(ctx context.Context) error {
	dir, err := filepath.Abs(v.Dir)
	if err != nil {
		return err
	}
	line := v.line(dir)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), "MUSTER_SAMPLE_DIR="+dir)
	cmd.Stdout, cmd.Stderr = v.Out, v.Out
	err = tie.Program{Cmd: cmd, AtDeath: syscall.SIGTERM}.RunUntil(ctx)
	if exit, ok := err.(*exec.ExitError); ok {
		if exit.ExitCode() < 0 {
			return fmt.Errorf("the validator %q was ended: %v", v.Command, exit)
		}
		return fmt.Errorf("the validator %q refuses the data: it ended with exit code %d", v.Command, exit.ExitCode())
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("run the validator %q: %w", v.Command, err)
	}
	return err
}

// line is what is run. A Python program needs not be executable.
func (v Validator) line(dir string) []string {
	info, err := os.Stat(v.Command)
	switch {
	case err != nil || info.IsDir():
		return []string{"/bin/sh", "-c", v.Command + ` "$@"`, "sh", "--data-dir", dir}
	case info.Mode()&0o111 == 0 && strings.HasSuffix(v.Command, ".py"):
		return []string{"python3", v.Command, "--data-dir", dir}
	}
	path, err := filepath.Abs(v.Command) // a name without a slash would be looked for elsewhere
	if err != nil {
		path = v.Command
	}
	return []string{path, "--data-dir", dir}
}
