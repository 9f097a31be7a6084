// Package diag holds messages to people about their files: a problem with a
// severity, a stable code, a place, one line on what is wrong, and a hint on
// what to do next.
//
// It knows nothing of the checks. A rule names a path such as
// "HeadNode.InstanceType"; the reader of the file gives the List a Locate
// function that turns the path into a line and a column.
package diag

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity says how much a problem matters.
type Severity int

const (
	// Error stops what the user wants to do.
	Error Severity = iota
	// Warning does not stop it, but will probably be regretted.
	Warning
	// Info is worth knowing.
	Info
	// Blind is a check that could not look. It is never a pass.
	Blind
)

var severityNames = [...]string{"error", "warning", "info", "blind"}

// String is the severity in lower case, as users see it.
func (s Severity) String() string {
	if s < 0 || int(s) >= len(severityNames) {
		return fmt.Sprintf("severity(%d)", int(s))
	}
	return severityNames[s]
}

// MarshalText gives JSON the severity's name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *Severity) UnmarshalText(text []byte) error {
	i := slices.Index(severityNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("severity %q is not known", text)
	}
	*s = Severity(i)
	return nil
}

// Place is a spot in a file. Everything in it is optional.
type Place struct {
	// File is the name under which the user gave the file.
	File string `json:"file,omitempty"`
	// Line and Column count from 1, Column in characters (not bytes, not
	// terminal cells); 0 is unknown.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Path is the spot in the document's own terms,
	// for example "Scheduling.SlurmQueues[0].Name".
	Path string `json:"path,omitempty"`
	// Source is the text of the line, without its end.
	Source string `json:"source,omitempty"`
}

// Diagnostic is one problem.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	// Code is stable and never changes its meaning, for example "queue/count".
	Code string `json:"code"`
	Place
	// Message is one line on what is wrong, in the user's words.
	Message string `json:"message"`
	// Hint is something to type or to change, empty if there is none.
	Hint string `json:"hint,omitempty"`
	// Fix mends the problem, nil if that is left to the user.
	Fix *Fix `json:"fix,omitempty"`
}

// WithHint adds what to do next.
func (d *Diagnostic) WithHint(format string, args ...any) *Diagnostic {
	d.Hint = fmt.Sprintf(format, args...)
	return d
}

// WithFix adds a change that mends the problem; nil is none.
func (d *Diagnostic) WithFix(f *Fix) *Diagnostic {
	if f != nil {
		d.Fix = f
	}
	return d
}

// At moves the problem to another place. The path stays if p has none.
func (d *Diagnostic) At(p Place) *Diagnostic {
	if p.Path == "" {
		p.Path = d.Path
	}
	d.Place = p
	return d
}

// List collects problems. The zero value is ready for use. It is for one
// goroutine at a time.
type List struct {
	// Locate finds the place of a path; nil gives places with a path only.
	Locate func(path string) Place

	items []*Diagnostic
}

// Errorf adds an error. The result is for WithHint and At.
func (l *List) Errorf(code, path, format string, args ...any) *Diagnostic {
	return l.add(Error, code, path, fmt.Sprintf(format, args...))
}

// Warnf adds a warning.
func (l *List) Warnf(code, path, format string, args ...any) *Diagnostic {
	return l.add(Warning, code, path, fmt.Sprintf(format, args...))
}

// Infof adds something worth knowing.
func (l *List) Infof(code, path, format string, args ...any) *Diagnostic {
	return l.add(Info, code, path, fmt.Sprintf(format, args...))
}

// Blindf adds a check that could not look.
func (l *List) Blindf(code, path, format string, args ...any) *Diagnostic {
	return l.add(Blind, code, path, fmt.Sprintf(format, args...))
}

func (l *List) add(s Severity, code, path, message string) *Diagnostic {
	d := &Diagnostic{Severity: s, Code: code, Message: message}
	if l.Locate != nil {
		d.Place = l.Locate(path)
	}
	d.Path = path
	l.items = append(l.items, d)
	return d
}

// Append adds problems that were found elsewhere, as they are.
func (l *List) Append(ds ...Diagnostic) {
	for _, d := range ds {
		l.items = append(l.items, &d)
	}
}

// Len is the number of problems of every severity. A nil list has none.
func (l *List) Len() int {
	if l == nil {
		return 0
	}
	return len(l.items)
}

// Count is the number of problems of one severity.
func (l *List) Count(s Severity) int {
	n := 0
	for _, d := range l.diagnostics() {
		if d.Severity == s {
			n++
		}
	}
	return n
}

// HasErrors reports whether one of the problems is an Error.
func (l *List) HasErrors() bool { return l.Count(Error) > 0 }

// All are the problems by file, line and column; those of one place stay in
// the order in which they were found. A nil list has none.
func (l *List) All() []Diagnostic {
	out := make([]Diagnostic, 0, l.Len())
	for _, d := range l.diagnostics() {
		out = append(out, *d)
	}
	slices.SortStableFunc(out, func(a, b Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return out
}

// Err is the list as an error, or nil if no problem is an Error.
func (l *List) Err() error {
	if !l.HasErrors() {
		return nil
	}
	return l
}

// Error is the first error in one line, and how many follow.
func (l *List) Error() string {
	first, n := "", 0
	for _, d := range l.All() {
		if d.Severity != Error {
			continue
		}
		if n == 0 {
			first = headline(d)
		}
		n++
	}
	switch n {
	case 0:
		return "no problem"
	case 1:
		return first
	default:
		return fmt.Sprintf("%s (and %d more)", first, n-1)
	}
}

func (l *List) diagnostics() []*Diagnostic {
	if l == nil {
		return nil
	}
	return l.items
}

// Rehint gives problems another hint, where hint knows one.
func (l *List) Rehint(hint func(Diagnostic) string) {
	for _, d := range l.diagnostics() {
		if better := hint(*d); better != "" {
			d.Hint = better
		}
	}
}
