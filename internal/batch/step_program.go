package batch

import (
	"slices"
	"strings"
)

// shellWords are commands of the shell for which there is no program.
var shellWords = []string{"source", ".", "export", "eval", "set", "shopt", "declare", "local", "trap", "pushd", "popd", "mapfile", "readarray", "unset", "shift"}

// stepPrograms finds steps whose program is none: srun starts programs, and no shell reads its command line.
func (s *script) stepPrograms() {
	if slices.Contains(s.functions, "srun") {
		return
	}
	for _, c := range s.named("srun") {
		if c.at == 0 || c.at >= len(c.words) || c.has("multi-prog") || !s.certain(c.context) {
			continue
		}
		w := c.words[c.at]
		if w.assumed || w.start == 0 && !w.carried {
			continue
		}
		first, _, several := strings.Cut(strings.TrimSpace(w.text), " ")
		switch {
		case several && !strings.ContainsAny(first, "/"+string(hole)) && strings.TrimSpace(w.text) == w.text:
			s.errorf("script/step-program", w.Place, "srun looks for one program that is called %q, and starts nothing", w.shown()).
				WithHint("remove the quotation marks, or write srun bash -c '...'")
		case !w.known():
		case isAssignment(w.text):
			s.errorf("script/step-program", w.Place, "srun takes %s for its program, and starts nothing", w.text).
				WithHint("srun env %s PROGRAM, or %s srun PROGRAM", w.text, w.text)
		case slices.Contains(shellWords, w.text):
			s.errorf("script/step-program", w.Place, "%s is a command of the shell and no program: srun starts nothing", w.text).
				WithHint("srun bash -c '%s ...; PROGRAM'", w.text)
		case w.text == "cd":
			s.warnf("script/step-program", w.Place, "srun cd changes the directory of no other command").WithHint("srun --chdir=DIRECTORY PROGRAM, or cd before srun")
		case slices.Contains(s.functions, w.text) && !s.wraps(w.text):
			s.errorf("script/step-program", w.Place, "%s is a function of this script and no program: srun starts nothing", w.text).
				WithHint("srun bash -c 'PROGRAM ...'; with export -f %s before it, srun bash -c '%s ...'", w.text, w.text)
		}
	}
}

// wraps tells whether a function may have the name of a program: it calls that, or a program is looked for by this name.
func (s *script) wraps(function string) bool {
	return slices.ContainsFunc(s.commands, func(c *command) bool {
		return c.function == function && slices.ContainsFunc(c.words, func(w word) bool { return program(w) == function })
	}) || slices.Contains([]string{"python", "python3", "hostname", "time", "test", "env"}, function)
}
