package batch

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
)

// firstLine finds what no shell reads as it is meant: all that stands behind the
// interpreter is one argument of it, blanks and # included (execve(2)).
func (s *script) firstLine() {
	line, _, _ := bytes.Cut(s.file.data, []byte("\n"))
	interpreter, argument := interpreterOf(text(line))
	comment := strings.Index(" "+argument, " #")
	switch env := path.Base(interpreter) == "env"; {
	case env && (strings.HasPrefix(argument, "-S") || strings.HasPrefix(argument, "--split-string")):
		// env splits it, and leaves a comment out.
	case comment == 0 || comment > 0 && (env || slices.Contains(shells, path.Base(interpreter))):
		s.errorf("script/first-line", s.ofFirstLine(argument[comment:]), "Linux knows no comment in the first line: it is handed to %s with the rest, as one argument, and the job ends at once", path.Base(interpreter)).
			WithHint("the comment goes on a line of its own")
	case env && strings.Contains(argument, " "):
		s.errorf("script/first-line", s.ofFirstLine(argument), "Linux hands all that stands behind env over as one word: env looks for a program %q, and the job ends at once", argument).
			WithHint("#!%s -S %s", interpreter, argument)
	case strings.HasPrefix(argument, "-") && strings.Contains(argument, " ") && slices.Contains(shells, path.Base(interpreter)):
		s.errorf("script/first-line", s.ofFirstLine(argument), "Linux hands all that stands behind %s over as one word, and %q is no option: the job ends at once", interpreter, argument).
			WithHint("%s", otherPlace(argument))
	}
}

// otherPlace is where options can stand.
func otherPlace(options string) string {
	if strings.HasPrefix(options, "--") || strings.HasPrefix(options, "-l") {
		return "write them as one word of single letters, as in -lx"
	}
	return "write set " + options + " in a line below"
}

// interpreterOf are the program that a first line names, and the argument that it gets.
func interpreterOf(line string) (interpreter, argument string) {
	line = strings.Trim(strings.TrimPrefix(line, "#!"), " \t\r")
	if i := strings.IndexAny(line, " \t"); i >= 0 {
		return line[:i], strings.ReplaceAll(strings.TrimLeft(line[i:], " \t"), "\t", " ")
	}
	return line, ""
}

// ofFirstLine is the place of an ending of the first line, before trailing blanks.
func (s *script) ofFirstLine(end string) diag.Place {
	line, _, _ := bytes.Cut(s.file.data, []byte("\n"))
	return s.file.place(len(bytes.TrimRight(line, " \t\r")) - len(end))
}
