package spec

import (
	"fmt"

	yaml "go.yaml.in/yaml/v4"

	"github.com/muster-hpc/muster/internal/diag"
)

// The fixes below are nil where the file's form does not allow a change that is
// sure to be right: an alias stands for the value, the value spreads over lines,
// or a map would be left empty. A change of the tree is proved on the text by
// Finish, which takes away what does not hold.

// Replace is a fix that gives a plain value another text. It is written as the
// schema's type asks; a text stays in its quotes.
func (v View) Replace(value string) *diag.Fix {
	l, s := v.slot()
	if s == nil || s.shared {
		return nil
	}
	return l.replace(s, value, v.field.Type)
}

// Remove is a fix that takes a value away with its key, or an entry out of a
// list.
func (v View) Remove() *diag.Fix {
	l, s := v.slot()
	if s == nil {
		return nil
	}
	switch {
	case s.key() != nil:
		return l.removal(s, "remove "+clip(s.key().Value))
	case s.value().Kind == yaml.ScalarNode:
		return l.removal(s, fmt.Sprintf("remove %s from %s", shown(s.value().Value), v.field.title()))
	default:
		return l.removal(s, "remove an entry of "+v.field.title())
	}
}

// Insert is a fix that adds a key with a plain value to a map.
func (v View) Insert(key, value string) *diag.Fix {
	l := v.layout()
	in := l.mapping(v.node)
	if in == nil || v.field.children[key] == nil || v.node.entry(key) != nil {
		return nil
	}
	field := v.field.children[key]
	text, ok := written(value, field.Type, 0)
	if !ok {
		return nil
	}
	edit, ok := l.add(in, key+": "+text)
	if !ok {
		return nil
	}
	added := yaml.Node{Kind: yaml.ScalarNode, Tag: tag(value, field.Type), Value: value}
	return l.fix("add "+key+": "+shown(value), []diag.Edit{edit}, &change{in: in, name: key, value: &added})
}

// layout finds things in the text. It is nil if that is not possible, and has
// methods for that.
func (v View) layout() *layout {
	if v.doc == nil {
		return nil
	}
	return v.doc.layout()
}

// slot is where the value stands; nil if it is not in the file.
func (v View) slot() (*layout, *slot) {
	l := v.layout()
	if l == nil || v.node == nil {
		return nil, nil
	}
	kinds := map[kind]yaml.Kind{scalar: yaml.ScalarNode, mapping: yaml.MappingNode, sequence: yaml.SequenceNode}
	return l, l.values[position{v.node.line, v.node.column, kinds[v.node.kind]}]
}

// layout is made once, when the first fix is asked for.
func (d *document) layout() *layout {
	if !d.laid {
		d.laid = true
		d.places = newLayout(d.original)
	}
	return d.places
}

// mapping is a map of the file that no alias stands for.
func (l *layout) mapping(n *node) *yaml.Node {
	if l == nil || n == nil || n.kind != mapping {
		return nil
	}
	at := position{n.line, n.column, yaml.MappingNode}
	if at == positionOf(l.top) {
		return l.top
	}
	if s := l.values[at]; s != nil && !s.shared {
		return s.value()
	}
	return nil
}

// fix is a fix of edits. A change of the tree is proved when the file is
// finished; nil is that there is none to prove.
func (l *layout) fix(title string, edits []diag.Edit, c *change) *diag.Fix {
	f := &diag.Fix{Title: title}
	for _, e := range edits {
		e.Start += l.skip
		e.End += l.skip
		f.Edits = append(f.Edits, e)
	}
	if c != nil {
		l.proposed = append(l.proposed, proposal{f, *c})
	}
	return f
}

func (l *layout) replace(s *slot, value, typ string) *diag.Fix {
	old, ok := l.token(s.value())
	text, sure := written(value, typ, s.value().Style)
	if !ok || !sure || text == l.text(old) {
		return nil
	}
	title := fmt.Sprintf("write %s instead of %s", shown(value), clip(l.text(old)))
	end, text := l.aligned(old, text)
	return l.fix(title, []diag.Edit{{Start: old.start, End: end, Text: text}}, nil)
}

func (l *layout) rename(s *slot, key string) *diag.Fix {
	if s == nil || s.shared || !wordy().MatchString(key) {
		return nil
	}
	old, ok := l.token(s.key())
	if !ok || has(s.in, key) {
		return nil
	}
	title := fmt.Sprintf("rename %s to %s", clip(s.key().Value), key)
	return l.fix(title, []diag.Edit{{Start: old.start, End: old.end, Text: key}}, nil)
}

// has reports whether a map has a key.
func has(in *yaml.Node, key string) bool {
	for i := 0; i+1 < len(in.Content); i += 2 {
		if in.Content[i].Value == key {
			return true
		}
	}
	return false
}

func (l *layout) removal(s *slot, title string) *diag.Fix {
	if s.shared {
		return nil
	}
	edit, ok := l.remove(s)
	if !ok {
		return nil
	}
	return l.fix(title, []diag.Edit{edit}, &change{drop: s})
}

func (l *layout) moving(s *slot, in *yaml.Node, name, where string) *diag.Fix {
	if in == nil || s.shared || linked(s.key()) || linked(s.value()) || has(in, name) {
		return nil
	}
	edits, ok := l.move(s, in, name)
	if !ok {
		return nil
	}
	title := fmt.Sprintf("move %s to %s", clip(s.key().Value), where)
	return l.fix(title, edits, &change{drop: s, in: in, name: name, value: s.value()})
}

// linked reports whether something has a name for aliases, or is one.
func linked(y *yaml.Node) bool {
	if y.Anchor != "" || y.Kind == yaml.AliasNode {
		return true
	}
	for _, c := range y.Content {
		if linked(c) {
			return true
		}
	}
	return false
}

// Text is the file's text as it was read; nil if it could not be read.
func (f *File) Text() []byte { return f.data }
