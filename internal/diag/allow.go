package diag

import (
	"slices"
	"strings"
)

// allowMark begins a comment by which a user silences problems:
//
//	MinCount: 0   # muster: allow cost/reserved
//	# muster: allow head/ssh-open, storage/deleted
//	Ssh:
//
// At the end of a line it is for that line, on a line of its own for the next
// line that is no comment. The options of batch scripts (#SBATCH) are none.
const allowMark = "# muster: allow "

// Allow takes away the problems that comments in a text allow. Errors stay: what
// does not work does not work by permission. An allowance that takes nothing away
// is a problem of its own, so that none outlives its reason.
func (l *List) Allow(file string, text []byte) {
	l.AllowBy(file, text, func(line int) int { return line })
}

// AllowBy is Allow for texts with statements of several lines: first is the line
// by whose comment a line is allowed, beside its own.
func (l *List) AllowBy(file string, text []byte, first func(line int) int) {
	all := allowances(string(text))
	if len(all) == 0 {
		return
	}
	reported := map[silenced][]*Diagnostic{}
	for _, d := range l.items {
		if d.File == file && d.Severity != Error {
			reported[silenced{d.Line, d.Code}] = append(reported[silenced{d.Line, d.Code}], d)
			if line := first(d.Line); line != d.Line {
				reported[silenced{line, d.Code}] = append(reported[silenced{line, d.Code}], d)
			}
		}
	}
	gone := map[*Diagnostic]bool{}
	for _, a := range all {
		needed := false
		for _, d := range reported[silenced{a.line, a.code}] {
			needed = needed || !gone[d]
			gone[d] = true
		}
		if !needed {
			l.Infof("file/allow", "", "%s is allowed here, but nothing is reported for it", a.code).At(a.at(file)).
				WithHint("remove it from the comment")
		}
	}
	l.items = slices.DeleteFunc(l.items, func(d *Diagnostic) bool { return gone[d] })
}

// silenced is a code at a line.
type silenced struct {
	line int
	code string
}

// allowance is a code that a comment allows.
type allowance struct {
	code string
	// line is the one that it is for; the comment is at place.
	line  int
	place Place
}

func (a allowance) at(file string) Place {
	a.place.File = file
	return a.place
}

// allowances finds the comments of a text. Lines count as editors count them.
func allowances(text string) []allowance {
	var all, waiting []allowance
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		before, codes, found := strings.Cut(line, allowMark)
		alone := strings.TrimSpace(before) == ""
		if found && (alone || strings.HasSuffix(before, " ") || strings.HasSuffix(before, "\t")) {
			for code := range strings.FieldsFuncSeq(codes, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
				a := allowance{code: code, line: n, place: Place{Line: n, Column: len([]rune(before)) + 1, Source: line}}
				if alone {
					waiting = append(waiting, a)
				} else {
					all = append(all, a)
				}
			}
		}
		if trimmed := strings.TrimSpace(line); trimmed != "" && (trimmed[0] != '#' || strings.HasPrefix(trimmed, "#SBATCH")) {
			for _, a := range waiting {
				a.line = n
				all = append(all, a)
			}
			waiting = nil
		}
	}
	return append(all, waiting...)
}
