package batch

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// array are the elements of a bash array.
type array struct{ elements []value }

// maxFields bounds the words that the shell makes of one word, and maxSplit those that it
// makes of all beside those that are written.
const (
	maxFields = 1000
	maxSplit  = 5000
)

// fields collects the words that the shell makes of a word: it splits unquoted
// expansions at blanks, and drops them if nothing is left.
type fields struct {
	done []value
	// open are the parts of the next word. begun says that there is one, if an empty one.
	open  []value
	begun bool
	// maybe says that a default was empty: the environment may have a value.
	maybe bool
	// whole says that blanks may not separate words, because the script sets IFS.
	whole bool
}

// add adds a part that is not split.
func (f *fields) add(v value) {
	f.open = append(f.open, v)
	f.begun = true
}

// end ends the word.
func (f *fields) end() {
	if f.begun {
		f.done = append(f.done, join(f.open...))
	}
	f.open, f.begun = nil, false
}

// full reports whether there are too many words.
func (f *fields) full() bool { return len(f.done) > maxFields }

// split adds an unquoted expansion. In splittable values, blanks separate words.
func (f *fields) split(v value, splittable bool) {
	parts := strings.FieldsFunc(v.text, isBlank)
	switch {
	case f.full():
		return
	case v.text == "":
		f.maybe = f.maybe || v.assumed
		f.open = append(f.open, v)
		return
	case f.whole && strings.ContainsFunc(v.text, isBlank), !splittable && strings.ContainsFunc(v.text, isBlank):
		f.add(unknown)
		return
	}
	if isBlank(rune(v.text[0])) {
		f.end()
	}
	for i, text := range parts {
		if i > 0 {
			f.end()
		}
		f.add(value{text: text, assumed: v.assumed})
	}
	if isBlank(rune(v.text[len(v.text)-1])) {
		f.end()
	}
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' || r == '\n' }

// words notes a word, and returns the words that the shell makes of it. All stand at the
// place of the word as it is written.
func (w *walker) words(x *syntax.Word, c context, kind role) []word {
	values := w.fields(x)
	found := w.word(x, c, kind)
	w.script.split += max(len(values)-1, 0)
	if w.script.split > maxSplit {
		w.script.cut = true
		return []word{found}
	}
	all := make([]word, len(values))
	for i, v := range values {
		all[i] = found
		all[i].value, all[i].carried = v, len(values) > 1
	}
	return all
}

// fields returns the words that the shell makes of a word.
func (w *walker) fields(x *syntax.Word) []value {
	if w.script.split > maxSplit {
		return []value{unknown}
	}
	f := fields{whole: w.setsIFS()}
	for i, p := range x.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if i == 0 && strings.HasPrefix(p.Value, "~") {
				f.add(w.home(p.Value))
			} else if v := w.part(p, false); v.text != "" {
				f.add(v)
			}
		case *syntax.DblQuoted:
			w.quotedFields(p, &f)
		case *syntax.ParamExp:
			list, ok := w.elements(p)
			if !ok {
				list = []value{w.parameter(p)}
			}
			for i, v := range list {
				if i > 0 {
					f.end()
				}
				f.split(v, !quotesDefault(p))
			}
		default:
			f.add(w.part(p, false))
		}
	}
	f.end()
	if f.full() || len(f.done) == 0 && f.maybe {
		w.script.split += len(f.done)
		return []value{unknown}
	}
	return f.done
}

// quotedFields adds a text in quotation marks: only "${A[@]}" becomes several words, or
// none.
func (w *walker) quotedFields(p *syntax.DblQuoted, f *fields) {
	f.begun = f.begun || len(p.Parts) == 0
	for _, q := range p.Parts {
		e, _ := q.(*syntax.ParamExp)
		list, ok := w.elements(e)
		if !ok || elementsIndex(e) != "@" {
			list = []value{w.part(q, true)}
		}
		for i, v := range list {
			if i > 0 {
				f.end()
			}
			if !f.full() {
				f.add(v)
			}
		}
	}
}

// setsIFS reports whether the script changes the characters at which the shell splits.
func (w *walker) setsIFS() bool {
	_, set := w.env["IFS"]
	return set || w.volatile["IFS"]
}

// quotesDefault reports whether the default of ${NAME:-"a b"} is in quotation marks, so
// that the shell does not split it.
func quotesDefault(p *syntax.ParamExp) bool {
	return p.Exp != nil && p.Exp.Word != nil && slices.ContainsFunc(p.Exp.Word.Parts, func(p syntax.WordPart) bool {
		switch p.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			return true
		}
		return false
	})
}

// elements returns what ${A[@]} and ${A[*]} stand for, if all elements of A are known.
func (w *walker) elements(p *syntax.ParamExp) ([]value, bool) {
	if p == nil || p.Param == nil || elementsIndex(p) == "" || p.Excl || p.Length || p.Width || p.Slice != nil || p.Repl != nil || p.Names != 0 || p.Exp != nil {
		return nil, false
	}
	v := w.env[p.Param.Value]
	if v.array == nil || w.volatile[p.Param.Value] {
		return nil, false
	}
	return v.array.elements, true
}

// elementsIndex is the @ or * of ${A[@]} and ${A[*]}, "" if there is none.
func elementsIndex(p *syntax.ParamExp) string {
	if x, ok := p.Index.(*syntax.Word); ok && (x.Lit() == "@" || x.Lit() == "*") {
		return x.Lit()
	}
	return ""
}

// joined is the text of "${A[*]}".
func (w *walker) joined(p *syntax.ParamExp) value {
	list, ok := w.elements(p)
	if !ok || elementsIndex(p) != "*" || w.setsIFS() {
		return unknown
	}
	var parts []value
	for i, v := range list {
		if i > 0 {
			parts = append(parts, value{text: " "})
		}
		parts = append(parts, v)
	}
	return join(parts...)
}

// arrayOf is the value of A=(...) and of A+=(...).
func (w *walker) arrayOf(a *syntax.Assign, items []word) value {
	var elements []value
	if a.Append {
		before := w.env[a.Name.Value].array
		if before == nil {
			return unknown
		}
		elements = slices.Clone(before.elements)
	}
	if len(elements) > maxFields || slices.ContainsFunc(a.Array.Elems, func(e *syntax.ArrayElem) bool { return e.Index != nil }) {
		return unknown
	}
	for _, i := range items {
		elements = append(elements, i.value)
	}
	return value{text: unknown.text, array: &array{elements}}
}
