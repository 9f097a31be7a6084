package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/muster-hpc/muster/internal/say/fault"
	"github.com/muster-hpc/muster/internal/say/page"
	"github.com/muster-hpc/muster/internal/say/step"
)

// progress shows steps on stderr: a line for each when it is done. Meanwhile a terminal
// shows the wait, and other outputs get a line now and then.
type progress struct {
	app      *app
	terminal bool
	// waits is the wait that was shown last, spoke how long it had lasted then.
	waits string
	spoke time.Duration
}

// speakEvery is how often a wait is told where there is no terminal.
const speakEvery = 30 * time.Second

func (a *app) reporter() step.Reporter {
	return &progress{app: a, terminal: a.redraws() && !a.quiet}
}

func (a *app) isTerminal() bool { return terminal(a.err) }

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// redraws says that a line of progress may be drawn over the one before: on a terminal that understands how.
func (a *app) redraws() bool { return a.isTerminal() && os.Getenv("TERM") != "dumb" }

func (a *app) color() bool {
	return a.redraws() && !a.noColor && os.Getenv("NO_COLOR") == ""
}

// Begin implements step.Reporter.
func (p *progress) Begin(name string) {
	if p.terminal {
		p.replace("       … " + name)
	}
}

// Waiting implements step.Reporter.
func (p *progress) Waiting(name, what string, since time.Duration) {
	text := name
	if what != "" {
		text += ": waiting for " + what
	}
	if p.terminal {
		p.replace(fmt.Sprintf("%5.0f s … %s", since.Seconds(), text))
		return
	}
	if name != p.waits {
		p.waits, p.spoke = name, 0
	}
	if since-p.spoke >= speakEvery {
		p.spoke = since
		p.Note(fmt.Sprintf("%s, %.0f s", text, since.Seconds()))
	}
}

// replace shows a line on the terminal in place of the last one.
func (p *progress) replace(line string) {
	fmt.Fprint(p.app.err, eraseLine+page.Short(p.app.err, page.Printable(line)))
	p.app.midLine = true
}

const eraseLine = "\r\033[K"

// endProgress erases the line of progress that the terminal shows, if it shows one.
func (a *app) endProgress() {
	if a.midLine {
		fmt.Fprint(a.err, eraseLine)
		a.midLine = false
	}
}

// Note implements step.Reporter.
func (p *progress) Note(line string) {
	if p.app.quiet {
		return
	}
	p.app.endProgress()
	fmt.Fprintf(p.app.err, "           %s\n", page.Printable(line))
}

// Done implements step.Reporter.
func (p *progress) Done(s step.Step) {
	if p.app.quiet {
		return
	}
	p.app.endProgress()
	text := s.Name
	if s.Detail != "" {
		text += ": " + s.Detail
	}
	fmt.Fprintf(p.app.err, "%6.2f s  %s\n", s.Seconds, page.Printable(text))
}

// errNoTerminal says that a question cannot be asked.
var errNoTerminal = fault.Usage(fault.Coded(fault.CodeQuestion, "this needs a yes: give --yes, or run it on a terminal"))

// confirm asks the user on the terminal. Where there is none, it says how to
// answer beforehand.
func (a *app) confirm(question string) error {
	in, ok := a.in.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return errNoTerminal
	}
	a.endProgress()
	fmt.Fprintf(a.err, "%s [y/N] ", page.Printable(question))
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil {
		return err
	}
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return errors.New("left as it is")
	}
	return nil
}
