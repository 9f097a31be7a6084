package batch

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

var (
	// optionValues are placeholders that are all of an option's value. sbatch's own %x has one letter and no second %.
	optionValues = pattern.New(`[= ](\{[a-z_]\w*\}|@[A-Z]\w+@|%[A-Z]\w+%|(?i:change_?me|replace_?me)|YOUR_\w+|TODO|FIXME|__[A-Z]\w*__|#\{\w+\}|\[[A-Z][A-Z_ -]+\])(?:\s|$)`)
	// jinjaForms are {{ name }} and {% if %}.
	jinjaForms = pattern.New(`\{\{[^{}]*\}\}|\{%.*?%\}`)
	// shellForms are placeholders that the shell cannot read: <name> where no file follows, ${var.name}.
	shellForms = pattern.New(`<[A-Za-z][A-Za-z0-9 _./:-]*>|\$\{(?:var|local|module|data|each|aws_\w+)(?:\.\w+)+\}|\{\{[^{}]*\}\}|\{%.*?%\}`)
	angleAtEnd = pattern.New(`<[A-Za-z][A-Za-z0-9 _./:-]*>\s*$`)
)

// textSpan is a part of the text with its line.
type textSpan struct{ line, start, end int }

// morePlaceholders adds the placeholders that are known by where they stand: as a whole option, outside of quotes in
// the shell, or where the shell could not be read. It reports whether sbatch would get one, or the shell stops at one.
func (s *script) morePlaceholders(found []unfilledPart) (all []unfilledPart, refused bool) {
	var spans []textSpan
	filled := slices.ContainsFunc(found, func(p unfilledPart) bool { return strings.HasPrefix(p.text, "{") })
	for i, start := range s.file.starts {
		line := s.file.line(i + 1)
		if bytes.HasPrefix(line, []byte("#SBATCH")) {
			for _, at := range optionValues().FindAllSubmatchIndex(line, -1) {
				spans, refused = append(spans, textSpan{i + 1, start + at[2], start + at[3]}), true
			}
			continue
		}
		for _, at := range shellForms().FindAllIndex(line, -1) {
			p := textSpan{i + 1, start + at[0], start + at[1]}
			jinja := line[at[0]] == '{'
			if s.stopsIn(p) || s.stumblesIn(p) || jinja && s.unquoted(p) {
				spans, refused, filled = append(spans, p), refused || s.stopsIn(p), filled || jinja
			}
		}
	}
	if filled {
		spans = append(spans, s.jinja()...)
	}
	if refused && s.broken != nil {
		spans = append(spans, s.belowBreak()...)
	}
	return s.with(found, spans), refused
}

// with adds spans to placeholders, each place once, in the order of the text.
func (s *script) with(found []unfilledPart, spans []textSpan) []unfilledPart {
	for _, p := range spans {
		at, text := s.file.place(p.start), string(s.file.data[p.start:p.end])
		end := at.Column + utf8.RuneCountInString(text)
		if !slices.ContainsFunc(found, func(o unfilledPart) bool {
			return o.Line == at.Line && o.Column < end && at.Column < o.Column+utf8.RuneCountInString(o.text)
		}) {
			found = append(found, unfilledPart{at, text})
		}
	}
	slices.SortStableFunc(found, func(a, b unfilledPart) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return found
}

// stopsIn reports whether the shell cannot be read further than a span.
func (s *script) stopsIn(p textSpan) bool {
	return s.broken != nil && !s.broken.unfinished && s.covers(p, s.broken.Place)
}

// stumblesIn reports whether bash fails in a span when it gets there.
func (s *script) stumblesIn(p textSpan) bool {
	return slices.ContainsFunc(s.oddities, func(b broken) bool { return s.covers(p, b.Place) })
}

func (s *script) covers(p textSpan, at diag.Place) bool {
	return at.Line == p.line && s.file.place(p.start).Column <= at.Column && at.Column <= s.file.place(p.end-1).Column
}

// unquoted reports whether a span begins in a word of a command, outside of its quotes.
func (s *script) unquoted(p textSpan) bool {
	return slices.ContainsFunc(s.words, func(w word) bool {
		return w.start > 0 && w.role != document && w.start <= p.start && p.start < w.start+len(w.raw) && !strings.ContainsAny(w.raw[:p.start-w.start], `"'\`)
	})
}

// jinja are all {{ name }} and {% if %} of a script that has some for certain: who fills them looks at no quotes.
func (s *script) jinja() []textSpan {
	var all []textSpan
	for i, start := range s.file.starts {
		line := s.file.line(i + 1)
		if messages().Match(line) {
			continue
		}
		for _, at := range jinjaForms().FindAllIndex(line, -1) {
			all = append(all, textSpan{i + 1, start + at[0], start + at[1]})
		}
	}
	return all
}

// belowBreak are the <name> at ends of lines below the place where the shell stopped at a placeholder.
func (s *script) belowBreak() []textSpan {
	var all []textSpan
	for i, start := range s.file.starts[min(s.broken.Line, len(s.file.starts)):] {
		number := s.broken.Line + i + 1
		line := s.file.line(number)
		at := angleAtEnd().FindIndex(line)
		if at != nil && !messages().Match(line) && !bytes.ContainsAny(line[:at[0]], `"'`) {
			all = append(all, textSpan{number, start + at[0], start + at[0] + len(bytes.TrimRight(line[at[0]:], " \t"))})
		}
	}
	return all
}
