package batch

import (
	"bytes"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

var (
	// optionHoles are placeholders in #SBATCH lines, where < and {{ mean nothing else.
	optionHoles = pattern.New(`\{\{[^{}]*\}\}|\{%.*?%\}|<%.*?%>|<[A-Za-z][A-Za-z0-9 _./:-]*>|\$\{[A-Za-z_]\w*(?:\.\w+)+\}`)
	// shellHoles are placeholders in the shell, where <in>out is a redirection and {{x}} may belong to another language.
	shellHoles = pattern.New(`<(?i:your|insert|replace|path[ _-]to)[ _-][A-Za-z0-9 _./-]*[A-Za-z0-9]>|/\{\{ ?\w+ ?\}\}|\{\{ ?\w+ ?\}\}/`)
	// messages are lines that print a text.
	messages = pattern.New(`^\s*(echo|printf|#)`)
	// fillers are lines that fill placeholders of another file.
	fillers = pattern.New(`\b(sed|perl)\b.*\b(s|y)[/|,#@].*(\{\{|<)`)
)

// spans are parts of the script.
type spans [][2]int

func (all spans) has(offset int) bool {
	return slices.ContainsFunc(all, func(p [2]int) bool { return p[0] <= offset && offset < p[1] })
}

// texts are what Python is given as a program or as a text of several words, and no path.
func (s *script) texts() spans {
	var all spans
	for _, c := range s.commands {
		if !c.python() && !c.launches() {
			continue
		}
		for _, w := range slices.Concat(c.words, c.files) {
			quoted := len(w.raw) > 2 && strings.ContainsRune(`'"`, rune(w.raw[0])) && strings.Contains(shellHoles().ReplaceAllString(w.raw, ""), " ")
			if w.start > 0 && (quoted || w.role == document) {
				all = append(all, [2]int{w.start, w.start + len(w.raw)})
			}
		}
	}
	return all
}

// templated reports placeholders as one problem, and leaves out the other problems of their lines, but not what was
// unchecked. It is an error if one of those was, or if sbatch would get a placeholder.
func (s *script) templated(list *diag.List) *diag.List {
	holes, refused := s.placeholders()
	if len(holes) == 0 {
		return list
	}
	out := &diag.List{}
	for _, d := range list.All() {
		switch follows := slices.ContainsFunc(holes, func(h unfilledPart) bool { return h.Line == d.Line }); {
		case !follows || d.Severity == diag.Blind:
			out.Append(d)
		case d.Severity == diag.Error:
			refused = true
		}
	}
	if refused {
		out.Errorf("script/template", "", "this script is a template: %s not filled in", areNot(holes)).At(holes[0].Place).WithHint(templateHint)
	} else {
		out.Warnf("script/template", "", "this script is a template: %s not filled in", areNot(holes)).At(holes[0].Place).WithHint(templateHint)
	}
	return out
}

const templateHint = "write what they stand for; muster does not fill batch scripts"

// areNot names placeholders, each once, with their verb.
func areNot(holes []unfilledPart) string {
	var names []string
	for _, h := range holes {
		if !slices.Contains(names, h.text) {
			names = append(names, h.text)
		}
	}
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, ", ") + " are"
}

// unfilledPart is a placeholder with its place.
type unfilledPart struct {
	diag.Place
	text string
}

// placeholders finds the placeholders, and reports whether sbatch would get one.
func (s *script) placeholders() (found []unfilledPart, refused bool) {
	texts := s.texts()
	for i := range s.file.starts {
		line := s.file.line(i + 1)
		form, option := shellHoles(), bytes.HasPrefix(line, []byte("#SBATCH"))
		if option {
			form = optionHoles()
			line, _, _ = bytes.Cut(line, []byte(" #"))
		} else if messages().Match(line) {
			continue
		}
		for _, at := range form.FindAllIndex(line, -1) {
			if !option && (texts.has(s.file.starts[i]+at[0]) || fillers().Match(line)) {
				continue
			}
			found = append(found, unfilledPart{s.file.place(s.file.starts[i] + at[0]), strings.Trim(string(line[at[0]:at[1]]), "/")})
			refused = refused || option
		}
	}
	found, more := s.morePlaceholders(found)
	return found, refused || more
}
