package batch

import (
	"path"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// endingRules are about how the script ends, and what Slurm learns of it: the
// exit code of the script is that of the job.
func endingRules(s *script) {
	if s.shell == "" {
		return
	}
	s.unawaited()
	s.endlessWait()
	s.hiddenByPipe()
	s.hiddenByTail()
	s.unreadStatus()
	s.notRun()
}

// unawaited finds a step in the background without a wait: it is ended with the
// script.
func (s *script) unawaited() {
	for _, c := range s.named("srun") {
		if !c.background || c.task() || c.function != "" || c.substituted {
			continue
		}
		if slices.ContainsFunc(s.commands, func(w *command) bool {
			return w.name == "wait" && w.index > c.index || w.name == "" || w.name == "tail" && w.index > c.index
		}) {
			continue
		}
		if slices.ContainsFunc(s.commands, func(w *command) bool {
			return w.index > c.index && !w.background && w.outer == nil && slices.Contains(distributors, w.name)
		}) {
			continue // it stands beside another step, which is waited for
		}
		serves := s.serves(c)
		if serves && s.worksAfter(c) {
			continue // it serves the work in front, and ends with it
		}
		d := s.warnf("script/background", c.Place, "srun runs in the background, and the script ends without it: Slurm then ends the step")
		switch {
		case serves:
			d.WithHint("leave the & away")
		case slices.ContainsFunc(s.commands, func(o *command) bool { return o != c && o.background && o.outer == nil && s.serves(o) }):
			d.WithHint("keep its number, pid=$!, and write wait $pid as the last line; wait alone would wait for what never ends")
		default:
			d.WithHint("write wait as the last line, or leave the & away")
		}
	}
}

// matters tells whether a command's exit code is the job's business.
func (s *script) matters(c *command) bool {
	if c.trains() {
		return true
	}
	return c.name == "srun" && s.runsTraining(c)
}

// hiddenByPipe: of a pipe, only the last command's exit code counts.
func (s *script) hiddenByPipe() {
	for _, c := range s.commands {
		if c.outer != nil || !c.piped || c.pipefail || c.substituted || c.tested || !s.matters(c) || s.reads("PIPESTATUS") {
			continue
		}
		s.warnf("script/pipefail", c.Place, "the exit code of the pipe is that of its last command: where this fails, the job still completes").
			WithHint("write set -o pipefail before it")
	}
}

// reads tells whether a variable's name stands anywhere in the script.
func (s *script) reads(name string) bool { return strings.Contains(string(s.file.data), name) }

// harmless are commands that end a script and always succeed.
var harmless = []string{"echo", "printf", "date", "true", "sleep", ":", "ls", "kill", "rm", "cat", "sync"}

// hiddenByTail: without set -e, the script's exit code is its last command's.
func (s *script) hiddenByTail() {
	last := s.lastCommand()
	if last == nil || last.conditional || !slices.Contains(harmless, last.name) {
		return
	}
	for _, c := range slices.Backward(s.commands) {
		if c.outer != nil || c.function != "" || c.looped || c.conditional || c.subshell || c.background || c.tested || !s.matters(c) {
			continue
		}
		if c.errexit || s.reads("$?") || slices.ContainsFunc(s.commands, func(t *command) bool { return t.name == "trap" || t.name == "exit" }) {
			return
		}
		s.warnf("script/exit-code", c.Place, "where this fails, the job still completes: the script's exit code is that of %s in line %d", last.name, last.Line).
			WithHint("write set -e at the beginning, or end with exit $status")
		return
	}
}

func (s *script) lastCommand() *command {
	var last *command
	for _, c := range s.commands {
		if c.outer == nil && c.function == "" && !c.substituted && (last == nil || c.Line >= last.Line) {
			last = c
		}
	}
	return last
}

var statusValue = pattern.New(`^"?\$(\?|\{\?\})"?$`)

// unreadStatus finds STATUS=$? after a step under set -e: where the step fails,
// the script has ended before.
func (s *script) unreadStatus() {
	for _, v := range s.variables {
		if !v.errexit || v.conditional || !statusValue().MatchString(v.raw) || v.function != "" || v.task() {
			continue
		}
		c := s.before(v)
		if c == nil || c.tested || c.conditional || c.background || !s.matters(c) {
			continue
		}
		s.warnf("script/errexit", v.Place, "set -e ends the script where line %d fails: %s is 0 here, always, and what follows is not done after a failure", c.Line, v.name).
			WithHint("status=0; srun ... || status=$?")
	}
}

// before is the command that stands just before an assignment.
func (s *script) before(v *variable) *command {
	var last *command
	for _, c := range s.commands {
		if c.outer == nil && !c.substituted && c.function == "" && c.Line < v.Line && (last == nil || c.Line >= last.Line) {
			last = c
		}
	}
	return last
}

// notRun finds a script that this one writes, and that nothing here names again.
func (s *script) notRun() {
	for _, c := range s.commands {
		if c.outer != nil {
			continue
		}
		var file, text word
		for _, f := range c.files {
			switch f.role {
			case written:
				file = f
			case document:
				text = f
			}
		}
		if c.name == "tee" && len(c.words) == 2 {
			file = c.words[1]
		}
		name := path.Base(file.text)
		if !strings.HasPrefix(text.text, "#!") || !file.known() || file.text == "" || strings.Count(string(s.file.data), name) != 1 || s.spreadsByPattern() {
			continue
		}
		d := s.infof("script/not-run", file.Place, "this writes a script, %s, and nothing here runs it", name)
		if strings.Contains(text.text, "\n"+magic) {
			d.WithHint("sbatch %s", file.text)
		}
	}
}

// spreadsByPattern tells whether commands name files by patterns, as sbatch *.sh.
func (s *script) spreadsByPattern() bool {
	return slices.ContainsFunc(s.words, func(w word) bool { return w.role == argument && strings.ContainsAny(w.text, "*?[") })
}
