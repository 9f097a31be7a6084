package cli

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/place"
	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/step"
	"github.com/muster-hpc/muster/internal/spec"
)

// talk is how places talk with the user of a command.
type talk struct{ app *app }

func (t talk) Report() step.Reporter { return t.app.reporter() }

func (t talk) Note(format string, args ...any) { t.app.note(format, args...) }

func (t talk) Out() io.Writer { return t.app.err }

func (t talk) Quiet() bool { return t.app.quiet }

func (t talk) Confirm(question string) error { return t.app.confirm(question) }

func (t talk) Problems(list *diag.List) error { return t.app.showProblems(list) }

func (t talk) Answer(line string) error {
	_, err := fmt.Fprintln(t.app.out, line)
	return err
}

func (t talk) Terminal() bool {
	in, isIn := t.app.in.(*os.File)
	out, isOut := t.app.out.(*os.File)
	return isIn && isOut && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd()))
}

func (t talk) None(name string) error {
	home, err := homeDir()
	if err != nil {
		return err
	}
	return noCluster(home, name)
}

// Checked shows a file's problems as `muster check` does.
func (t talk) Checked(f *spec.File, path string) error {
	if t.app.output == "json" && f.Problems.HasErrors() {
		return f.Problems
	}
	c := checker{}
	c.add(path, "cluster", "", f.Problems)
	if err := t.app.writeProblems(&c); err != nil {
		return err
	}
	if f.Problems.HasErrors() {
		return fault.Exit(fault.ExitProblem)
	}
	return nil
}

var _ place.Talk = talk{}
