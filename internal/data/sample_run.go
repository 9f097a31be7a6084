package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// Refused says that a validator ended with an exit code of its own, or was ended, which is -1.
type Refused struct {
	Command string
	Code    int
	how     error
}

func (r *Refused) Error() string {
	if r.Code < 0 {
		return fmt.Sprintf("the validator %q was ended: %v", r.Command, r.how)
	}
	return fmt.Sprintf("the validator %q refuses the data: it ended with exit code %d", r.Command, r.Code)
}

// Check says whether the program is there, as far as it can be told before a shell reads the line.
func (v Validator) Check() error {
	if _, err := os.Stat(v.Command); err == nil {
		return nil
	}
	word, _, more := strings.Cut(strings.TrimSpace(v.Command), " ")
	if word == "" || strings.ContainsAny(word, "$`'\"*?[]~(){}<>|&;=\\#") {
		return nil // for the shell to say
	}
	if strings.Contains(word, "/") {
		if _, err := os.Stat(word); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the validator %s is not there", word)
		}
		return nil
	}
	if _, err := exec.LookPath(word); err != nil && !more && strings.Contains(word, ".") {
		return fmt.Errorf("the validator %s is not there, and is no program of PATH", word)
	}
	return nil
}

// Run runs the validator to its end. It returns Refused if it does not end well.
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
		return &Refused{v.Command, exit.ExitCode(), exit}
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
