package batch

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/muster-hpc/muster/internal/diag"
)

// call notes a simple command, the commands that it runs, and what it sets.
func (w *walker) call(x *syntax.CallExpr, s *syntax.Stmt, c context, files []word) {
	if len(x.Args) == 0 {
		for _, a := range x.Assigns {
			w.assign(a, c, nil)
		}
		return
	}
	cmd := &command{files: files, end: w.place(s.End()).Line}
	for _, a := range x.Assigns {
		if v := w.assign(a, c, cmd); v != nil {
			cmd.variables = append(cmd.variables, v)
		}
	}
	var args []*syntax.Word
	for _, a := range x.Args {
		for _, word := range w.words(a, c, argument) {
			cmd.words, args = append(cmd.words, word), append(args, a)
			a = nil
		}
	}
	if len(cmd.words) == 0 { // only variables that are empty
		w.keep(cmd.variables)
		return
	}
	if name := x.Args[0].Lit(); len(args) > 1 && isName(name) && name == strings.ToUpper(name) { // no program is called so
		w.blankBeforeValue(x.Args[0], args[1])
	}
	w.note(cmd, c, args)
	w.effects(cmd, args)
}

// blankBeforeValue notes NAME = VALUE, which sets nothing. at is where it begins.
func (w *walker) blankBeforeValue(at, equals *syntax.Word) {
	if equals != nil && strings.HasPrefix(w.raw(equals), "=") {
		w.script.oddities = append(w.script.oddities, broken{Place: w.place(at.Pos()), message: "with a blank before =, no variable is set"})
	}
}

// keep notes that assignments turn out to be for the shell, not for a command.
func (w *walker) keep(assigned []*variable) {
	for _, v := range assigned {
		v.scope = nil
		w.env[v.name] = v.value
	}
}

// note adds a command and those that it runs. args are its words as they are
// written, as far as they stand in the script: nil is the second and later words of
// an expansion.
func (w *walker) note(cmd *command, c context, args []*syntax.Word) {
	if *w.count++; *w.count > maxCommands {
		return
	}
	cmd.context, cmd.Place, cmd.name = c, cmd.words[0].Place, program(cmd.words[0])
	cmd.index = len(w.script.commands)
	w.script.commands = append(w.script.commands, cmd)
	at := cmd.wrapped()
	cmd.at = at
	w.given(cmd, at)
	inside := c
	inside.outer = cmd
	if cmd.name == "srun" {
		inside.srun = cmd
	}
	if i := cmd.scripted(); i > 0 {
		cmd.at = i
		w.scripted(i, inside, args)
		return
	}
	if at == 0 || at >= len(cmd.words) {
		return
	}
	next := &command{files: cmd.files, end: cmd.end}
	for _, word := range cmd.words[at:] {
		word.context = inside
		next.words = append(next.words, word)
	}
	w.note(next, inside, args[at:])
}

// given are the variables that env and srun --export give to what they run.
func (w *walker) given(cmd *command, at int) {
	c := cmd.context
	c.outer = cmd
	switch cmd.name {
	case "env":
		for _, a := range cmd.words[1:max(at, 1)] {
			if name, text, ok := strings.Cut(a.text, "="); ok && isName(name) {
				v := &variable{name: name, value: value{text: text, assumed: a.assumed}, context: c, Place: a.Place, raw: a.raw, exported: true, scope: cmd}
				w.script.variables = append(w.script.variables, v)
			}
		}
	case "srun":
		c.srun = cmd
		if o, ok := cmd.option("export"); ok {
			for _, v := range exports(value{text: o.Value}, o.Place, c) {
				v.scope = cmd
				w.script.variables = append(w.script.variables, v)
			}
		}
	}
}

// exports are the variables that a value of --export sets.
func exports(list value, at diag.Place, c context) []*variable {
	var all []*variable
	for item := range strings.SplitSeq(list.text, ",") {
		if name, text, ok := strings.Cut(item, "="); ok && isName(name) {
			all = append(all, &variable{name: name, value: value{text: text, assumed: list.assumed}, context: c, Place: at, raw: text, exported: true})
		}
	}
	return all
}

// scripted reads the script in bash -c '...'. Its bytes come from the script's
// where they can be told, else from the beginning of the word.
func (w *walker) scripted(i int, c context, args []*syntax.Word) {
	if i >= len(args) || args[i] == nil {
		return
	}
	in := w.unquoted(args[i])
	kept := *w
	kept.env = map[string]value{}
	for name, v := range w.env {
		kept.env[name] = v
	}
	kept.errexit, kept.pipefail = false, false
	c.subshell = true
	kept.text(in, c)
}

// unquoted is the text of a word, with where each byte of it comes from. What
// the outer shell expands is put in as it is known.
func (w *walker) unquoted(x *syntax.Word) inner {
	var in inner
	var b strings.Builder
	add := func(text string, at, step int) {
		for i := range len(text) {
			b.WriteByte(text[i])
			in.offsets = append(in.offsets, w.inner.at(at+i*step))
		}
	}
	var part func(p syntax.WordPart, quoted bool)
	part = func(p syntax.WordPart, quoted bool) {
		at := int(p.Pos().Offset())
		switch p := p.(type) {
		case *syntax.SglQuoted:
			add(p.Value, at+1, 1)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				part(q, true)
			}
		case *syntax.Lit:
			w.unescaped(p, quoted, add)
		default:
			v := w.part(p, quoted)
			if v.assumed {
				v = unknown // another may be given
			}
			add(v.text, at, 0)
		}
	}
	for _, p := range x.Parts {
		part(p, false)
	}
	in.text = b.String()
	return in
}

// unescaped adds a literal byte by byte, so that each keeps its place.
func (w *walker) unescaped(p *syntax.Lit, quoted bool, add func(text string, at, step int)) {
	from, to := int(p.Pos().Offset()), int(p.End().Offset())
	if to > len(w.inner.text) || from > to {
		add(unescape(p.Value, quoted), from, 0)
		return
	}
	raw := w.inner.text[from:to]
	for i := 0; i < len(raw); i++ {
		if raw[i] == '\\' && i+1 < len(raw) {
			if text := unescape(raw[i:i+2], quoted); len(text) < 2 {
				add(text, from+i+1, 1)
				i++
				continue
			}
		}
		add(raw[i:i+1], from+i, 1)
	}
}

// effects are what a command does to the shell: set -e, read, source.
func (w *walker) effects(cmd *command, args []*syntax.Word) {
	if cmd.outer != nil && cmd.name != "builtin" {
		return
	}
	switch cmd.name {
	case "set":
		w.set(cmd.args())
	case "read", "mapfile", "readarray", "getopts", "unset", "let":
		for _, a := range cmd.args() {
			if isName(a.text) {
				w.env[a.text] = unknown
			}
		}
		if cmd.name == "unset" {
			for _, a := range cmd.args() {
				delete(w.env, a.text)
			}
		}
	case "printf":
		for i, a := range cmd.args() {
			if a.text == "-v" && i+1 < len(cmd.args()) {
				w.env[cmd.args()[i+1].text] = unknown
			}
		}
	case "source", ".", "eval":
		if len(args) > 1 && !strings.HasSuffix(cmd.words[1].text, "/activate") {
			for name := range w.env {
				w.env[name] = unknown
			}
		}
	}
}

// set is the command of that name.
func (w *walker) set(args []word) {
	for i, a := range args {
		if len(a.text) < 2 || a.text[0] != '-' && a.text[0] != '+' {
			continue
		}
		on := a.text[0] == '-'
		w.errexit = w.errexit && !(!on && strings.Contains(a.text, "e")) || on && strings.Contains(a.text, "e")
		w.allexport = w.allexport && !(!on && strings.Contains(a.text, "a")) || on && strings.Contains(a.text, "a")
		if strings.HasSuffix(a.text, "o") && i+1 < len(args) {
			switch args[i+1].text {
			case "pipefail":
				w.pipefail = on
			case "errexit":
				w.errexit = on
			case "allexport":
				w.allexport = on
			}
		}
	}
}

// declare is export, local, declare and the like.
func (w *walker) declare(x *syntax.DeclClause, c context) {
	exported := x.Variant.Value == "export"
	for _, a := range x.Args {
		if a.Name == nil {
			w.blankBeforeValue(a.Value, a.Value)
			exported = exported || x.Variant.Value != "export" && a.Value != nil && strings.HasPrefix(a.Value.Lit(), "-") && strings.Contains(a.Value.Lit(), "x")
			continue
		}
		if a.Naked {
			w.export(a, c, exported)
			continue
		}
		if v := w.assign(a, c, nil); v != nil {
			v.exported = v.exported || exported
			w.exports[v.name] = v.exported
		}
	}
}

// export is export NAME: it makes visible what was set before.
func (w *walker) export(a *syntax.Assign, c context, exported bool) {
	if !exported || w.exports[a.Name.Value] {
		return
	}
	w.exports[a.Name.Value] = true
	before := w.script.assigned(a.Name.Value)
	for _, v := range before {
		v.exported = true
	}
	if len(before) == 0 {
		v := &variable{name: a.Name.Value, value: w.lookup(a.Name.Value), context: c, Place: w.place(a.Name.Pos()), exported: true, bare: true}
		w.script.variables = append(w.script.variables, v)
	}
}

// assign notes an assignment. scope is the command that it is for.
func (w *walker) assign(a *syntax.Assign, c context, scope *command) *variable {
	if *w.count++; a.Name == nil || *w.count > maxCommands {
		return nil
	}
	v := &variable{name: a.Name.Value, context: c, Place: w.place(a.Name.Pos()), scope: scope}
	v.exported = scope != nil || w.allexport || w.exports[v.name]
	switch {
	case a.Array != nil:
		for _, e := range a.Array.Elems {
			if e.Value != nil {
				v.items = append(v.items, w.words(e.Value, c, assigned)...)
			}
		}
		v.value = w.arrayOf(a, v.items)
	case a.Value != nil:
		found := w.word(a.Value, c, assigned)
		v.value, v.raw = found.value, found.raw
	}
	if a.Append && a.Array == nil {
		v.value = join(w.lookup(v.name), v.value)
	}
	if a.Index != nil {
		v.value = unknown
	}
	if scope == nil {
		w.env[v.name] = v.value
	}
	w.script.variables = append(w.script.variables, v)
	return v
}
