package place

import (
	"io"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/say/step"
	"github.com/muster-hpc/muster/internal/spec"
)

// Talk is the conversation with the user who runs a command.
type Talk interface {
	// Report is told what goes on.
	Report() step.Reporter
	// Note tells the user something that is not an error, unless he wants quiet.
	Note(format string, args ...any)
	// Out is for texts that the user has to see; Quiet says that he wants no others.
	Out() io.Writer
	Quiet() bool
	// Answer writes a line that is the command's answer.
	Answer(line string) error
	// Terminal says that input and output are a terminal.
	Terminal() bool
	// Confirm asks. It fails if the answer is no, and with fault.CodeQuestion if
	// there is no user to ask.
	Confirm(question string) error
	// Problems shows the problems of files, and fails if there are errors. Checked shows
	// those of a cluster file, as `muster check` does.
	Problems(list *diag.List) error
	Checked(f *spec.File, path string) error
	// None says that there is no cluster of a name, and which there are.
	None(name string) error
}
