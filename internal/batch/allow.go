package batch

import (
	"bytes"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
)

// allow takes away what comments of the script allow, as in
// "# muster: allow script/exclude". A comment is for its line or for the
// statement below it, and above the first option also for the script as a whole.
//
// Allowances without effect are reported only with facts about the cluster, since many
// rules are silent without them. Even then, another cluster may need the allowance.
func (s *script) allow(list *diag.List) *diag.List {
	first := s.beginnings()
	list.AllowBy(s.file.name, s.file.data, func(line int) int { return first[line] })
	kept := &diag.List{}
	kept.Append(slices.DeleteFunc(list.All(), func(d diag.Diagnostic) bool {
		code, _, _ := strings.Cut(d.Message, " ")
		return d.Code == "file/allow" && (s.facts == nil || aboutNeeds(code))
	})...)
	return kept
}

// beginnings are the first lines of statements by all their lines. What is about
// the script as a whole, line 0, belongs to its first line of options.
func (s *script) beginnings() map[int]int {
	all := map[int]int{0: s.head()}
	for _, c := range s.commands {
		for line := c.Line; c.outer == nil && line <= c.end; line++ {
			all[line] = c.Line
		}
	}
	return all
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
