package batch

import (
	"slices"
	"strings"
)

// A signal before the time is over lets a job write its last checkpoint. sbatch
// sends it to the script itself with B:, else to the tasks only. A shell that
// waits for a command in the foreground runs its trap after that command: the
// Bash manual, "Signals".

// signalNumbers are Linux's, of signals that jobs use.
var signalNumbers = map[string]string{"1": "HUP", "2": "INT", "3": "QUIT", "10": "USR1", "12": "USR2", "15": "TERM", "18": "CONT"}

func signalName(text string) string {
	name := strings.TrimPrefix(strings.ToUpper(text), "SIG")
	if known, ok := signalNumbers[name]; ok {
		return known
	}
	return name
}

// warning is what --signal asks for.
type warning struct {
	Option
	signal string
	// script says that the batch script gets it, and not its tasks.
	script bool
}

// warning is the job's --signal, [R][B:]SIGNAL[@SECONDS].
func (s *script) warning() (warning, bool) {
	o, ok := s.option("signal")
	if !ok {
		return warning{}, false
	}
	flags, signal, has := strings.Cut(o.Value, ":")
	if !has {
		flags, signal = "", o.Value
	}
	signal, _, _ = strings.Cut(signal, "@")
	return warning{Option: o, signal: signalName(signal), script: strings.ContainsAny(flags, "bB")}, true
}

// trapped is the trap of the batch script's for a signal.
func (s *script) trapped(signal string) (*command, bool) {
	for _, c := range s.named("trap") {
		args := c.args()
		if c.task() || len(args) < 2 || args[0].text == "-" || args[0].text == "" {
			continue
		}
		if slices.ContainsFunc(args[1:], func(w word) bool { return signalName(w.text) == signal }) {
			return c, true
		}
	}
	return nil, false
}

func (s *script) signals() {
	w, asked := s.warning()
	if !asked {
		s.unasked()
		return
	}
	trap, trapped := s.trapped(w.signal)
	switch {
	case w.script && trapped:
		s.tooLate(trap, w.signal)
	case !w.script && trapped && w.signal != "TERM":
		s.warnf("script/signal", w.Place, "%s goes to the tasks of srun, and the script that traps %s does not get it", w.written(), w.signal).
			WithHint("--signal=B:%s", w.signal+after(w.Value))
	case !w.script && !trapped:
		s.unheard(w)
	}
}

// untrapped reports a signal of which the script surely ends, be it in the middle of what it runs.
func (s *script) untrapped() {
	w, asked := s.warning()
	if !asked || !w.script || !ends(w.signal) || s.shell == "" || s.blindBelow() || s.mayTrap(w.signal) {
		return
	}
	s.warnf("script/signal", s.at(w.Option), "%s ends the script at once: nothing traps %s", w.written(), w.signal).
		WithHint("trap 'kill -%s \"$pid\"' %s, with srun … & pid=$!, or leave out B: to send it to the tasks", w.signal, w.signal)
}

// ends tells whether a shell that does nothing about a signal ends of it while it waits for a command. bash leaves SIGINT to that command.
func ends(signal string) bool {
	return slices.Contains([]string{"USR1", "USR2", "TERM", "HUP", "ALRM", "ABRT", "PIPE", "XCPU"}, signal)
}

// mayTrap tells whether the script may handle or ignore a signal, or hand it on to a program in its place.
func (s *script) mayTrap(signal string) bool {
	if s.reading() || s.replaced() || len(s.named("eval")) > 0 {
		return true
	}
	return slices.ContainsFunc(s.named("trap"), func(c *command) bool {
		args := c.args()
		return !c.task() && len(args) > 0 && !args[0].is("-") && slices.ContainsFunc(args, func(w word) bool {
			return !w.known() || signalName(w.text) == signal
		})
	})
}

// unheard reports a signal for the tasks of a job that starts none: what its script runs itself is no task, and gets nothing.
func (s *script) unheard(w warning) {
	trains := s.firstTraining()
	if trains == nil || trains.outer != nil || s.reading() || s.replaced() || slices.ContainsFunc(s.commands, s.startsTasks) {
		return
	}
	s.warnf("script/signal", w.Place, "%s goes to the tasks of srun, and the script starts none: %s does not get it", w.written(), s.called(trains)).
		WithHint("start it with srun")
}

// after is the time of a --signal, as it is written.
func after(value string) string {
	if i := strings.IndexByte(value, '@'); i >= 0 {
		return value[i:]
	}
	return ""
}

// unasked is a job that asks for no signal.
func (s *script) unasked() {
	for _, signal := range []string{"USR1", "USR2"} {
		if trap, ok := s.trapped(signal); ok {
			s.warnf("script/signal", trap.Place, "nothing sends %s: the job does not ask for it", signal).
				WithHint("#SBATCH --signal=B:%s@300", signal)
			return
		}
	}
	_, limited := s.option("time")
	if limited && s.job.minNodes >= largeNodes && !s.says(deadlines()) && !s.reading() {
		s.infof("script/signal", s.scale(), "when its time is over the job ends without a last checkpoint").
			WithHint("#SBATCH --signal=USR1@300, and a program that saves when it gets it")
	}
}

// replaced tells whether a program takes the place of the shell, and its signals.
func (s *script) replaced() bool {
	return slices.ContainsFunc(s.named("exec"), func(c *command) bool { return !c.task() && len(c.words) > 1 })
}

// starters are programs that run as long as the job does.
var starters = []string{"srun", "mpirun", "mpiexec", "torchrun", "deepspeed", "accelerate", "python", "python3"}

// tooLate reports a trap that runs only after what it is to stop.
func (s *script) tooLate(trap *command, signal string) {
	var last *command
	inner := s.inner()
	for _, c := range s.named(starters...) {
		switch {
		case c.background:
			return
		case c.index > trap.index && !c.task() && !c.substituted && !c.under(starters...) && training().MatchString(full(c, inner)):
			last = c
		}
	}
	if last != nil {
		s.warnf("script/trap", last.Place, "the trap for %s (line %d) runs only when %s has ended", signal, trap.Line, last.name).
			WithHint("run it in the background and wait: %s … & wait $!", last.name)
	}
}

// inner are the commands that each command runs.
func (s *script) inner() map[*command][]*command {
	all := map[*command][]*command{}
	for _, c := range s.commands {
		if c.outer != nil {
			all[c.outer] = append(all[c.outer], c)
		}
	}
	return all
}

// full is a command with all that it runs.
func full(c *command, inner map[*command][]*command) string {
	text := c.line()
	for _, other := range inner[c] {
		text += " " + full(other, inner)
	}
	return text
}
