package yamledit

import (
	"fmt"

	yaml "go.yaml.in/yaml/v4"

	"github.com/muster-hpc/muster/internal/diag"
)

// The fixes of this file are nil where the text's form does not allow a change that is
// sure to be right: an alias stands for the value, the value spreads over lines, or a
// map would be left empty.

// fix is a fix of edits. A change of the tree is proved when the file is
// finished; nil is that there is none to prove.
func (l *Layout) fix(title string, edits []diag.Edit, c *change) *diag.Fix {
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

// Replace gives a plain value another text, as its type asks; a text stays in its quotes.
func (l *Layout) Replace(s *Slot, value, typ string) *diag.Fix {
	old, ok := l.token(s.Value())
	text, sure := written(value, typ, s.Value().Style)
	if !ok || !sure || text == l.text(old) {
		return nil
	}
	title := fmt.Sprintf("write %s instead of %s", Shown(value), Clip(l.text(old)))
	end, text := l.aligned(old, text)
	return l.fix(title, []diag.Edit{{Start: old.start, End: end, Text: text}}, nil)
}

// Rename gives an entry another key.
func (l *Layout) Rename(s *Slot, key string) *diag.Fix {
	if s == nil || s.Shared || !wordy().MatchString(key) {
		return nil
	}
	old, ok := l.token(s.Key())
	if !ok || has(s.in, key) {
		return nil
	}
	title := fmt.Sprintf("rename %s to %s", Clip(s.Key().Value), key)
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

// Remove takes an entry or item away.
func (l *Layout) Remove(s *Slot, title string) *diag.Fix {
	if s.Shared {
		return nil
	}
	edit, ok := l.remove(s)
	if !ok {
		return nil
	}
	return l.fix(title, []diag.Edit{edit}, &change{drop: s})
}

// Move takes an entry to another map, under a name; where is how its title calls that map.
func (l *Layout) Move(s *Slot, in *yaml.Node, name, where string) *diag.Fix {
	if in == nil || s.Shared || linked(s.Key()) || linked(s.Value()) || has(in, name) {
		return nil
	}
	edits, ok := l.move(s, in, name)
	if !ok {
		return nil
	}
	title := fmt.Sprintf("move %s to %s", Clip(s.Key().Value), where)
	return l.fix(title, edits, &change{drop: s, in: in, name: name, value: s.Value()})
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

// Insert adds a key with a plain value of a type to a map.
func (l *Layout) Insert(in *yaml.Node, key, value, typ string) *diag.Fix {
	text, ok := written(value, typ, 0)
	if !ok || has(in, key) {
		return nil
	}
	edit, ok := l.add(in, key+": "+text)
	if !ok {
		return nil
	}
	added := yaml.Node{Kind: yaml.ScalarNode, Tag: tag(value, typ), Value: value}
	return l.fix("add "+key+": "+Shown(value), []diag.Edit{edit}, &change{in: in, name: key, value: &added})
}

// Around puts something, such as brackets, around a plain value. The caller makes sure
// that no character of the value has a meaning of its own there.
func (l *Layout) Around(s *Slot, before, after, title string) *diag.Fix {
	old, ok := l.token(s.Value())
	if !ok {
		return nil
	}
	return l.fix(title, []diag.Edit{{Start: old.start, End: old.end, Text: before + l.text(old) + after}}, nil)
}
