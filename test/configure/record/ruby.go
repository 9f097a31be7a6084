package main

import (
	"regexp"
	"slices"
	"strings"
)

// source is a file of Ruby: what each of its blocks has, in order. The block of a
// recipe's own lines is "", others are "action NAME" and "def NAME".
type source struct {
	path   string
	blocks map[string][]*entry
	first  string // the action that is run where none is named
	uses   []string
	// returns are the texts that methods are made for.
	returns map[string]string
}

// entry is a resource, an included recipe, or a word that may be a method.
type entry struct {
	item
	include string
	word    string
	actions []string
	from    string // source of a template
}

// frame is an open block of lines, by its indentation.
type frame struct {
	indent      int
	block, cond string
	entry       *entry
	loop, items string
}

// parser reads line by line: the cookbook's indentation is that of rubocop.
type parser struct {
	source
	kinds   map[string]bool
	frames  []frame
	values  map[string]string
	skipped map[string][]string // conditions of early returns, by block
	heredoc string
}

func parse(path, text string, kinds map[string]bool, attributes map[string]string) source {
	p := &parser{source: source{path: path, blocks: map[string][]*entry{}, returns: map[string]string{}}, kinds: kinds, values: map[string]string{}, skipped: map[string][]string{}}
	for k, v := range attributes {
		p.values[k] = v
	}
	for line := range strings.Lines(text) {
		p.line(strings.TrimRight(line, "\n"))
	}
	return p.source
}

var (
	heredocBegin = regexp.MustCompile(`<<[-~]([A-Z_]+)`)
	assigned     = regexp.MustCompile(`^(\w+) = (".*"|'.*'|node\[.*\])$`)
	blockBegin   = regexp.MustCompile(`^(?:action :(\w+) do|def (\w+))`)
	loopBegin    = regexp.MustCompile(`^(.*)\.each(?:_with_index|_value)? do \|(\w+)`)
	declared     = regexp.MustCompile(`^(?:(?:declare|edit)_resource\(:(\w+), (.*)\)|(\w+) (.*?))( do)?(?: unless (.*))?$`)
	included     = regexp.MustCompile(`include_recipe ['"]([\w-]+::\w+)['"](?: (if|unless) (.*))?`)
	early        = regexp.MustCompile(`^return (if|unless) (.*)$`)
	used         = regexp.MustCompile(`^use ['"](.*?)(?:\.rb)?['"]`)
	firstAction  = regexp.MustCompile(`^default_action :(\w+)`)
	property     = regexp.MustCompile(`^(action|path|source|value|options|fstype|only_if|not_if|line)[ (](.*)$`)
	words        = regexp.MustCompile(`\b[a-z]\w+[?!]?`)
	symbols      = regexp.MustCompile(`\w+`)
	literal      = regexp.MustCompile(`^(?:'[^']*'|"[^"]*")$`)
)

func (p *parser) line(raw string) {
	text := strings.TrimSpace(raw)
	if p.heredoc != "" {
		if text == p.heredoc {
			p.heredoc = ""
		}
		return
	}
	if text == "" || strings.HasPrefix(text, "#") {
		return
	}
	if m := heredocBegin.FindStringSubmatch(text); m != nil {
		p.heredoc = m[1]
	}
	indent := len(raw) - len(strings.TrimLeft(raw, " "))
	closed := p.close(indent, text)
	if cond, ok := strings.CutPrefix(text, "end unless "); ok && closed != nil {
		closed.guard = join(closed.guard, condition("not "+cond))
	}
	if text != "end" && !strings.HasPrefix(text, "end ") {
		p.statement(indent, text)
	}
}

// close ends the frames that a line is not in any more, and returns the resource that
// was the outermost of them.
func (p *parser) close(indent int, text string) (closed *entry) {
	for len(p.frames) > 0 {
		last := p.frames[len(p.frames)-1]
		if last.indent < indent {
			return closed
		}
		p.frames = p.frames[:len(p.frames)-1]
		closed = last.entry
		if last.indent == indent && last.cond != "" && (text == "else" || strings.HasPrefix(text, "elsif ")) {
			cond := "not " + last.cond
			if other, ok := strings.CutPrefix(text, "elsif "); ok {
				cond = other
			}
			p.open(frame{indent: indent, cond: cond})
			return nil
		}
	}
	return closed
}

func (p *parser) open(f frame) { p.frames = append(p.frames, f) }

// statement reads a line that ends nothing.
func (p *parser) statement(indent int, text string) {
	if r := p.resource(); r != nil {
		p.property(r, text)
	}
	if m := included.FindStringSubmatch(text); m != nil {
		guard := ""
		if m[3] != "" {
			guard = strings.TrimPrefix(m[2]+" "+m[3], "if ")
		}
		p.add(&entry{include: m[1], item: item{guard: join(p.guard(), condition(guard))}})
		return
	}
	if p.structure(indent, text) || p.declare(indent, text) {
		return
	}
	if name, ok := strings.CutPrefix(p.block(), "def "); ok && literal.MatchString(text) {
		p.returns[name] = p.text(text)
	}
	for _, w := range words.FindAllString(text, -1) {
		p.add(&entry{word: w, item: item{guard: p.guard()}})
	}
}

// structure reads conditions, loops, blocks and assignments.
func (p *parser) structure(indent int, text string) bool {
	if m := assigned.FindStringSubmatch(text); m != nil {
		p.values[m[1]] = p.text(m[2])
		return true
	}
	if m := used.FindStringSubmatch(text); m != nil {
		p.uses = append(p.uses, m[1])
		return true
	}
	if m := firstAction.FindStringSubmatch(text); m != nil {
		p.first = m[1]
		return true
	}
	if m := blockBegin.FindStringSubmatch(text); m != nil && p.resource() == nil {
		name := "action " + m[1]
		if m[2] != "" {
			name = "def " + m[2]
		}
		p.open(frame{indent: indent, block: name})
		p.blocks[name] = append(p.blocks[name], []*entry{}...)
		if p.blocks[name] == nil {
			p.blocks[name] = []*entry{}
		}
		if p.first == "" && m[1] != "" {
			p.first = m[1] // Chef's default is the first that is declared
		}
		return true
	}
	if m := early.FindStringSubmatch(text); m != nil && p.resource() == nil {
		cond := "not " + m[2]
		if m[1] == "unless" {
			cond = m[2]
		}
		p.skipped[p.block()] = append(p.skipped[p.block()], cond)
		return true
	}
	if m := loopBegin.FindStringSubmatch(text); m != nil {
		p.open(frame{indent: indent, loop: m[2], items: p.text(m[1])})
		return true
	}
	first, rest, _ := strings.Cut(text, " ")
	switch first {
	case "if", "when", "case":
		p.open(frame{indent: indent, cond: rest})
	case "unless":
		p.open(frame{indent: indent, cond: "not " + rest})
	default:
		return false
	}
	if first == "case" {
		p.frames[len(p.frames)-1].cond = "" // its values say enough
	}
	return false
}

// declare reads a resource.
func (p *parser) declare(indent int, text string) bool {
	m := declared.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	kind, name := m[1]+m[3], m[2]+m[4]
	if !p.kinds[kind] || p.resource() != nil && m[5] == "" {
		return false
	}
	e := &entry{item: item{kind: kind, name: p.text(name), guard: p.guard()}}
	if m[6] != "" {
		e.guard = join(e.guard, condition("not "+m[6]))
	}
	p.add(e)
	if m[5] != "" {
		p.open(frame{indent: indent, entry: e})
	}
	return true
}

// property reads what a resource says of itself.
func (p *parser) property(e *entry, text string) {
	m := property.FindStringSubmatch(text)
	if m == nil {
		return
	}
	value := strings.TrimSuffix(strings.TrimPrefix(m[2], "("), ")")
	switch m[1] {
	case "action":
		e.actions = symbols.FindAllString(strings.TrimPrefix(value, "%i"), -1)
		if e.kind == "service" || e.kind == "mount" || e.kind == "kernel_module" || slices.Contains(e.actions, "delete") {
			e.detail = join(e.detail, strings.Join(e.actions, " "))
		}
	case "path":
		e.name = p.text(value)
	case "source":
		e.from = p.text(value)
	case "value", "options", "fstype", "line":
		e.detail = join(e.detail, p.text(value))
	case "only_if":
		e.guard = join(e.guard, condition(strings.Trim(value, "{} ")))
	case "not_if":
		e.guard = join(e.guard, condition("not "+strings.Trim(value, "{} ")))
	}
}

func (p *parser) add(e *entry) { p.blocks[p.block()] = append(p.blocks[p.block()], e) }

// resource is the one that the line belongs to.
func (p *parser) resource() *entry {
	for _, f := range slices.Backward(p.frames) {
		if f.entry != nil {
			return f.entry
		}
	}
	return nil
}

func (p *parser) block() string {
	for _, f := range slices.Backward(p.frames) {
		if f.block != "" {
			return f.block
		}
	}
	return ""
}

// guard are the conditions around a line.
func (p *parser) guard() string {
	all := ""
	for _, c := range p.skipped[p.block()] {
		all = join(all, condition(c))
	}
	for _, f := range p.frames {
		if f.cond != "" {
			all = join(all, condition(f.cond))
		}
	}
	return all
}
