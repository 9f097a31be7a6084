package spec

import (
	"fmt"

	yaml "go.yaml.in/yaml/v4"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec/yamledit"
)

// The fixes below are nil where the file's form does not allow a change that is
// sure to be right: an alias stands for the value, the value spreads over lines,
// or a map would be left empty. A change of the tree is proved on the text by
// Finish, which takes away what does not hold.

// Replace is a fix that gives a plain value another text. It is written as the
// schema's type asks; a text stays in its quotes.
func (v View) Replace(value string) *diag.Fix {
	l, s := v.slot()
	if s == nil || s.Shared {
		return nil
	}
	return l.Replace(s, value, v.field.Type)
}

// Remove is a fix that takes a value away with its key, or an entry out of a
// list.
func (v View) Remove() *diag.Fix {
	l, s := v.slot()
	if s == nil {
		return nil
	}
	switch {
	case s.Key() != nil:
		return l.Remove(s, "remove "+yamledit.Clip(s.Key().Value))
	case s.Value().Kind == yaml.ScalarNode:
		return l.Remove(s, fmt.Sprintf("remove %s from %s", yamledit.Shown(s.Value().Value), v.field.title()))
	default:
		return l.Remove(s, "remove an entry of "+v.field.title())
	}
}

// Insert is a fix that adds a key with a plain value to a map.
func (v View) Insert(key, value string) *diag.Fix {
	l := v.layout()
	in := mapOf(l, v.node)
	if in == nil || v.field.children[key] == nil || v.node.entry(key) != nil {
		return nil
	}
	field := v.field.children[key]
	return l.Insert(in, key, value, field.Type)
}

// layout finds things in the text. It is nil if that is not possible, and has
// methods for that.
func (v View) layout() *yamledit.Layout {
	if v.doc == nil {
		return nil
	}
	return v.doc.layout()
}

// slot is where the value stands; nil if it is not in the file.
func (v View) slot() (*yamledit.Layout, *yamledit.Slot) {
	l := v.layout()
	if l == nil || v.node == nil {
		return nil, nil
	}
	kinds := map[kind]yaml.Kind{scalar: yaml.ScalarNode, mapping: yaml.MappingNode, sequence: yaml.SequenceNode}
	return l, l.ValueAt(v.node.line, v.node.column, kinds[v.node.kind])
}

// layout is made once, when the first fix is asked for.
func (d *document) layout() *yamledit.Layout {
	if !d.laid {
		d.laid = true
		d.places = yamledit.New(d.original)
	}
	return d.places
}

// Text is the file's text as it was read; nil if it could not be read.
func (f *File) Text() []byte { return f.data }

// mapOf is a map of the file that no alias stands for.
func mapOf(l *yamledit.Layout, n *node) *yaml.Node {
	if l == nil || n == nil || n.kind != mapping {
		return nil
	}
	return l.MapAt(n.line, n.column)
}
