package batch

import (
	"bytes"
	"slices"

	"github.com/muster-hpc/muster/internal/diag"
)

// allow takes away what comments of the script allow, as in
// "# muster: allow script/exclude". A comment is for its line or for the
// statement below it, and above the first option also for the script as a whole.
//
// Many rules are silent where nothing is known of the cluster, so that only with
// facts an allowance can be seen to be for nothing.
func (s *script) allow(list *diag.List) *diag.List {
	list.AllowBy(s.file.name, s.file.data, s.begins)
	if s.facts != nil {
		return list
	}
	kept := &diag.List{}
	kept.Append(slices.DeleteFunc(list.All(), func(d diag.Diagnostic) bool { return d.Code == "file/allow" })...)
	return kept
}

// begins is the line in which the statement begins that a line is of. What is
// about the script as a whole, line 0, belongs to its first line of options.
func (s *script) begins(line int) int {
	if line == 0 {
		return s.head()
	}
	for _, c := range s.commands {
		if c.outer == nil && c.Line <= line && line <= c.end {
			return c.Line
		}
	}
	return line
}

// head is the first line that is no comment.
func (s *script) head() int {
	for n := range s.file.starts {
		line := bytes.TrimSpace(s.file.line(n + 1))
		if len(line) > 0 && (line[0] != '#' || isDirective(line)) {
			return n + 1
		}
	}
	return 0
}
