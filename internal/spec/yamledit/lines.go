package yamledit

import (
	"strings"

	yaml "go.yaml.in/yaml/v4"
)

// block are the lines of an entry in block style, which are its own.
type block struct {
	first, last int
	// column is that of the key, or of an item's dash.
	column int
}

// block is false if an entry shares its first line with something else.
func (l *Layout) block(s *Slot) (block, bool) {
	if Flow(s.in) {
		return block{}, false
	}
	at := s.first()
	b := block{first: at.Line, column: at.Column}
	if at.Line < 1 || at.Line > len(l.starts) {
		return block{}, false
	}
	if s.Key() == nil {
		b.column = s.in.Column
	}
	blanks, what := l.indent(b.first)
	if what != content || blanks != b.column-1 || s.Key() == nil && l.data[l.lineStart(b.first)+blanks] != '-' {
		return block{}, false
	}
	b.last = l.lastLine(s, b.column)
	return b, true
}

// lastLine is the last line of an entry whose key, or dash, stands in a column.
// Comments that are indented as what is in the entry belong to it.
func (l *Layout) lastLine(s *Slot, column int) int {
	last := s.first().Line
	dashes := s.Key() != nil && s.Value().Kind == yaml.SequenceNode && !Flow(s.Value())
	follows := true
	for line := last + 1; line <= len(l.starts); line++ {
		blanks, what := l.indent(line)
		start := l.lineStart(line)
		deeper := blanks >= column || l.within(start)
		switch {
		case what == blank:
		case what == comment:
			if follows = follows && deeper; follows {
				last = line
			}
		case deeper || dashes && blanks == column-1 && l.data[start+blanks] == '-':
			last, follows = line, true
		default:
			return last
		}
	}
	return last
}

// above is the first of the comment lines that stand directly above an entry.
func (l *Layout) above(b block) int {
	for b.first > 1 {
		blanks, what := l.indent(b.first - 1)
		if what != comment || blanks != b.column-1 {
			break
		}
		b.first--
	}
	return b.first
}

// gap reports whether nothing but blank lines and comments stands between two
// lines.
func (l *Layout) gap(from, to int) bool {
	if from >= to {
		return false
	}
	for line := from + 1; line < to; line++ {
		if _, what := l.indent(line); what == content {
			return false
		}
	}
	return true
}

// newline is how the text ends its lines.
func (l *Layout) newline() string {
	if len(l.starts) > 1 {
		if i := l.starts[1]; i > 1 && string(l.data[i-2:i]) == "\r\n" {
			return "\r\n"
		}
	}
	return "\n"
}

// ended reports whether the line before a byte has its line break.
func (l *Layout) ended(at int) bool {
	return at == 0 || l.lineStart(l.lineOf(at)) == at
}

// shifted are lines, moved to the right or, if by is negative, to the left.
func (l *Layout) shifted(first, last, by int) string {
	var b strings.Builder
	for line := first; line <= last; line++ {
		text := string(l.data[l.lineStart(line):l.lineStart(line+1)])
		_, what := l.indent(line)
		switch bare := strings.TrimRight(text, "\r\n"); {
		case what == blank || bare == "":
		case by > 0:
			b.WriteString(strings.Repeat(" ", by))
		default:
			n := len(bare) - len(strings.TrimLeft(bare, " "))
			text = text[min(n, -by):]
		}
		b.WriteString(text)
	}
	return b.String()
}

// orphans are the comments in a span, each on a line of its own, and indented
// for a column.
func (l *Layout) orphans(s span, column int) string {
	var b strings.Builder
	for _, c := range l.commentsIn(s) {
		b.WriteString(strings.Repeat(" ", column-1) + l.text(c) + l.newline())
	}
	return b.String()
}

// valueEnd is the byte behind a value that is written on one line or in
// brackets; false is that it is not.
func (l *Layout) valueEnd(y *yaml.Node) (int, bool) {
	if end := l.ends[y]; end > 0 {
		return end, y.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0
	}
	if s, ok := l.token(y); ok {
		return s.end, true
	}
	return 0, false
}

// inline is an entry as one piece of text without comments, which can stand in
// brackets or on a line.
func (l *Layout) inline(s *Slot) (span, bool) {
	end, ok := l.valueEnd(s.Value())
	whole := span{l.offset(s.first()), end}
	return whole, ok && len(l.commentsIn(whole)) == 0 && l.lineOf(whole.start) == l.lineOf(whole.end)
}
