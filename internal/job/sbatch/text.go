package sbatch

import (
	"fmt"
	"strings"

	"github.com/muster-hpc/muster/internal/sys/shell"
)

// text is a script that grows, with where in the job file each line comes from.
type text struct {
	b       strings.Builder
	origins []string
	// indent stands before each line that is not empty.
	indent string
}

// add adds lines that come from a path of the job file, or are the script's own.
func (t *text) add(path, lines string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(lines, "\n"), "\n") {
		if line != "" {
			line = t.indent + line
		}
		t.b.WriteString(line + "\n")
		t.origins = append(t.origins, path)
	}
}

// say adds lines of the script's own.
func (t *text) say(format string, args ...any) { t.add("", fmt.Sprintf(format, args...)) }

// quoted is a text as one word of the shell.
func quoted(word string) string { return shell.Line([]string{word}) }

// part is some words of a command, on a line of their own, with where they come from.
type part struct{ path, words string }

// command adds a command of several lines; end stands behind its last word. Only the first line
// of a part is indented: more lines of it are a word's, which stays as it is.
func (t *text) command(end string, parts ...part) {
	for i, p := range parts {
		line := t.indent + p.words
		if i > 0 {
			line = t.indent + "    " + p.words
		}
		if i < len(parts)-1 {
			line += " \\\n"
		} else {
			line += end + "\n"
		}
		t.b.WriteString(line)
		for range strings.Count(line, "\n") {
			t.origins = append(t.origins, p.path)
		}
	}
}
