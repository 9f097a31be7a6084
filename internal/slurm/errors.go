package slurm

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// What callers act on, behind the errors of Client.
var (
	// ErrUnreachable: slurmctld, or slurmdbd for the history, does not answer.
	ErrUnreachable = errors.New("slurm does not answer")
	// ErrNoJob: slurmctld knows no such job. It forgets jobs that ended.
	ErrNoJob = errors.New("no such job")
	// errJobEnded: the job has ended already.
	errJobEnded = errors.New("the job has ended")
)

// causes are what Slurm's programs print, of all versions.
var causes = []struct {
	text string
	err  error
}{
	{"Unable to contact", ErrUnreachable},
	{"Connection refused", ErrUnreachable},
	{"Socket timed out", ErrUnreachable},
	{"Zero Bytes were transmitted", ErrUnreachable},
	{"Problem talking to the database", ErrUnreachable},
	{"Slurm backup controller in standby mode", ErrUnreachable},
	{"Invalid job id", ErrNoJob},
	{"Job/step already completing or completed", errJobEnded},
}

// ProgramError is a program that ran and ended with an error.
type ProgramError struct {
	// Program is its name, with what it was to do.
	Program string
	// Stderr is what it said.
	Stderr string
	// Err is how it ended.
	Err error
}

func (e *ProgramError) Error() string {
	if line := lastLine(e.Stderr); line != "" {
		return fmt.Sprintf("%s: %s", e.Program, line)
	}
	return fmt.Sprintf("%s: %v", e.Program, e.Err)
}

// Unwrap gives both how the program ended and what Slurm meant by it.
func (e *ProgramError) Unwrap() []error {
	if cause := causeOf(e.Stderr); cause != nil {
		return []error{cause, e.Err}
	}
	return []error{e.Err}
}

func causeOf(stderr string) error {
	for _, c := range causes {
		if strings.Contains(stderr, c.text) {
			return c.err
		}
	}
	return nil
}

// lastLine is the last line with text, which is where Slurm's programs say
// what is wrong.
func lastLine(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	return strings.TrimSpace(text)
}

// NewProgramError is the error of a Runner whose program, or the context that
// it ran under, ended with err. stderr is what the program said; if it is
// empty, it is taken from an exec.ExitError.
func NewProgramError(ctx context.Context, program, stderr string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", program, context.Cause(ctx))
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && stderr == "" {
		stderr = string(exit.Stderr)
	}
	return &ProgramError{Program: program, Stderr: stderr, Err: err}
}
