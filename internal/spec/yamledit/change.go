package yamledit

import (
	"strings"

	yaml "go.yaml.in/yaml/v4"

	"github.com/muster-hpc/muster/internal/diag"
)

// remove takes an entry or item away. Its comments stay, on lines of their own.
func (l *Layout) remove(s *Slot) (diag.Edit, bool) {
	if s.only() {
		return diag.Edit{}, false
	}
	if Flow(s.in) {
		return l.removeFlow(s)
	}
	if b, ok := l.block(s); ok {
		whole := span{l.lineStart(b.first), l.lineStart(b.last + 1)}
		text := l.orphans(whole, b.column)
		if !l.ended(whole.end) {
			text = strings.TrimRight(text, "\r\n")
		}
		return diag.Edit{Start: whole.start, End: whole.end, Text: text}, true
	}
	return l.removeFirst(s)
}

// removeFirst takes the first key of a list's entry away: the next one gets its
// place behind the dash.
func (l *Layout) removeFirst(s *Slot) (diag.Edit, bool) {
	if s.Key() == nil || s.at != 0 {
		return diag.Edit{}, false
	}
	next := &Slot{in: s.in, at: s.width()}
	b, ok := l.block(next)
	if !ok {
		return diag.Edit{}, false
	}
	whole := span{l.offset(s.Key()), l.offset(next.Key())}
	text := l.orphans(whole, b.column)
	if text != "" {
		text = strings.TrimLeft(text, " ") + strings.Repeat(" ", b.column-1)
	}
	return diag.Edit{Start: whole.start, End: whole.end, Text: text}, true
}

// removeFlow takes an entry in brackets away, with a comma.
func (l *Layout) removeFlow(s *Slot) (diag.Edit, bool) {
	cut := span{start: l.offset(s.first())}
	if s.last() {
		end, ok := l.valueEnd(s.Value())
		before, sure := l.valueEnd(s.in.Content[s.at-1])
		if !ok || !sure {
			return diag.Edit{}, false
		}
		cut = span{before, end}
	} else {
		cut.end = l.offset(s.in.Content[s.at+s.width()])
	}
	return diag.Edit{Start: cut.start, End: cut.end}, len(l.commentsIn(cut)) == 0
}

// add puts an entry, which is one piece of text, at the end of a map.
func (l *Layout) add(in *yaml.Node, text string) (diag.Edit, bool) {
	if Flow(in) {
		return l.addFlow(in, text)
	}
	at, column, ok := l.end(in)
	if !ok {
		return diag.Edit{}, false
	}
	return l.insert(at, strings.Repeat(" ", column-1)+text+l.newline()), true
}

// end is the byte at which a further entry of a map in block style goes, and the
// column of its keys.
func (l *Layout) end(in *yaml.Node) (at, column int, ok bool) {
	if len(in.Content) == 0 {
		return 0, 0, false
	}
	last := &Slot{in: in, at: len(in.Content) - 2}
	column = last.Key().Column
	return l.lineStart(l.lastLine(last, column) + 1), column, true
}

// insert puts whole lines before a byte that begins a line or is the end.
func (l *Layout) insert(at int, text string) diag.Edit {
	if !l.ended(at) {
		text = l.newline() + strings.TrimRight(text, "\r\n")
	}
	return diag.Edit{Start: at, End: at, Text: text}
}

func (l *Layout) addFlow(in *yaml.Node, text string) (diag.Edit, bool) {
	end := l.ends[in]
	if end == 0 {
		return diag.Edit{}, false
	}
	if len(in.Content) == 0 {
		return diag.Edit{Start: end - 1, End: end - 1, Text: text}, true
	}
	at, ok := l.valueEnd(in.Content[len(in.Content)-1])
	if !ok || at >= end {
		return diag.Edit{}, false
	}
	if comma := strings.TrimLeft(string(l.data[at:end-1]), " \t"); strings.HasPrefix(comma, ",") {
		at = end - 1 - len(comma) + 1
		return diag.Edit{Start: at, End: at, Text: " " + text}, true
	}
	return diag.Edit{Start: at, End: at, Text: ", " + text}, true
}

// move takes an entry to the end of another map, under a name.
func (l *Layout) move(s *Slot, to *yaml.Node, name string) ([]diag.Edit, bool) {
	if b, ok := l.block(s); ok && !Flow(to) {
		return l.moveLines(s, b, to, name)
	}
	whole, ok := l.inline(s)
	if !ok {
		return nil, false
	}
	text, ok := l.named(s, l.text(whole), name)
	if !ok {
		return nil, false
	}
	cut, ok := l.remove(s)
	put, sure := l.add(to, text)
	return []diag.Edit{cut, put}, ok && sure
}

// named gives a text that begins with an entry's key another key.
func (l *Layout) named(s *Slot, text, name string) (string, bool) {
	if s.Key().Value == name {
		return text, true
	}
	key, ok := l.token(s.Key())
	if !ok {
		return "", false
	}
	return name + text[key.end-key.start:], true
}

// moveLines moves the lines of an entry with the comments above it. Where it
// follows the other map anyway, it is only indented.
func (l *Layout) moveLines(s *Slot, b block, to *yaml.Node, name string) ([]diag.Edit, bool) {
	at, column, ok := l.end(to)
	if !ok {
		return nil, false
	}
	by, first := column-b.column, l.above(b)
	keyLine, ok := l.named(s, l.shifted(b.first, b.last, by)[b.column-1+by:], name)
	text := l.shifted(first, b.first-1, by) + strings.Repeat(" ", column-1) + keyLine
	whole := span{l.lineStart(first), l.lineStart(b.last + 1)}
	line := l.lineOf(at)
	if !l.ended(at) {
		line++
	}
	if l.gap(line-1, first) || l.gap(b.last, line) {
		return []diag.Edit{{Start: whole.start, End: whole.end, Text: text}}, ok
	}
	if !l.ended(whole.end) {
		text += l.newline()
	}
	return []diag.Edit{{Start: whole.start, End: whole.end}, l.insert(at, text)}, ok && !s.only()
}
