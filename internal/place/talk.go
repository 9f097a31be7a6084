package place

import (
	"io"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/step"
)

// Talk is the conversation with whoever runs a command.
type Talk interface {
	// Report is told what goes on.
	Report() step.Reporter
	// Note tells what is no error, unless its user wants quiet.
	Note(format string, args ...any)
	// Out is for what the user has to see, wants it or not; Quiet says that he wants only
	// that.
	Out() io.Writer
	Quiet() bool
	// Answer writes a line that is the command's answer.
	Answer(line string) error
	// Terminal says that somebody types and reads here.
	Terminal() bool
	// Confirm asks. It fails if the answer is no, and with fault.CodeQuestion if nobody can
	// be asked.
	Confirm(question string) error
	// Problems shows what is wrong with files, and fails if there are errors. Checked shows
	// what is wrong with a cluster file, as `muster check` does.
	Problems(list *diag.List) error
	Checked(f *spec.File, path string) error
	// None says that there is no cluster of a name, and which there are.
	None(name string) error
}
