// Package fault has errors that say more than their text: a code for programs, that the
// command line is to blame, or with which exit code the program ends.
package fault

import (
	"errors"
	"fmt"
)

// Exit codes of muster.
const (
	ExitDone        = 0
	ExitProblem     = 1
	ExitUsage       = 2
	ExitLook        = 3
	ExitInterrupted = 130
)

// Codes of errors, for programs. They never change their meaning; docs/commands.md lists
// them.
const (
	CodeUsage    = "usage"
	CodeStopped  = "stopped"
	CodeProblem  = "problem"
	CodeNone     = "cluster/none"
	CodeUnknown  = "cluster/unknown"
	CodeSeveral  = "cluster/several"
	CodeDown     = "cluster/down"
	CodeForeign  = "cluster/foreign"
	CodeJob      = "job/unknown"
	CodeQuestion = "question"
)

// CodedError is an error with a code.
type CodedError struct {
	Code string
	Err  error
}

func (e CodedError) Error() string { return e.Err.Error() }

// Unwrap is the error without its code.
func (e CodedError) Unwrap() error { return e.Err }

// Coded is an error with a code; format and args are fmt.Errorf's.
func Coded(code, format string, args ...any) error {
	return CodedError{code, fmt.Errorf(format, args...)}
}

// Is tells whether an error has a code.
func Is(err error, code string) bool {
	own, ok := errors.AsType[CodedError](err)
	return ok && own.Code == code
}

// UsageError is a command line that cannot be understood.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap is what cannot be understood.
func (e UsageError) Unwrap() error { return e.Err }

// Usage says of an error that the command line is to blame.
func Usage(err error) error { return UsageError{err} }

// Exit ends the program with a code and without a message, as it was shown already.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// PassedOn is the exit code of another program, which has shown its own messages. It may
// be 0.
type PassedOn int

func (e PassedOn) Error() string { return fmt.Sprintf("exit code %d", int(e)) }
