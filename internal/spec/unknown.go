package spec

import (
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
)

// misplaced is a key that was understood although its map does not take it.
type misplaced struct {
	path  string
	entry entry
	// home is the map that gets it, nil if there is none, and field its row there.
	home     *node
	homePath string
	field    *field
}

// graft puts what was understood to where it belongs, and checks it there, so
// that rules see it and one round shows all problems.
func (c *checker) graft() {
	for len(c.misplaced) > 0 && !c.full() && c.budget >= 0 {
		m := c.misplaced[0]
		c.misplaced = c.misplaced[1:]
		c.moved[m.field] = true
		at := c.place(&m.entry)
		if m.home != nil && m.home.kind == mapping && m.home.entry(m.field.name) == nil {
			m.entry.key = m.field.name
			m.home.entries = append(m.home.entries, m.entry)
			m.path = join(m.homePath, m.field.name)
		}
		c.value(m.entry.value, m.field, m.path, at)
	}
}

// unknown reports a key that a map does not take, and says where it belongs or
// what was meant.
func (c *checker) unknown(n *node, e *entry, f *field, parent string) {
	path := join(parent, e.key)
	at := c.at(e.line, e.column)
	d := c.errorAt(at, "schema/unknown", path, "%s is not a key of %s", quote(e.key), f.where())
	if c.full() {
		return
	}
	homes := c.homes(e.key, f)
	near := diag.Nearest(e.key, f.names)
	switch {
	case oldKeys[e.key] != "":
		d.WithHint("it is a key of ParallelCluster 2; now it is %s", oldKeys[e.key])
	case near != "" && (strings.EqualFold(near, e.key) || near == e.key+"s" || near+"s" == e.key || len(homes) == 0):
		d.WithHint("did you mean %s?", near).WithFix(c.respell(e, near, f.names))
		if n.entry(near) == nil {
			c.misplaced = append(c.misplaced, misplaced{path: path, entry: *e, home: n, homePath: parent, field: f.children[near]})
		}
	case len(homes) > 0:
		d.WithHint("%s belongs under %s", homes[0].name, places(homes))
		if len(homes) == 1 {
			up := homes[0].parent
			d.WithFix(c.rehouse(e, f, homes[0], c.one(up)))
			c.misplaced = append(c.misplaced, misplaced{path: path, entry: *e, home: c.one(up), homePath: up.Path, field: homes[0]})
		}
	default:
		d.WithHint("%s", f.keysHint())
	}
}

// one is the file's only value of a field; nil if there can be several, or is
// none.
func (c *checker) one(f *field) *node {
	if strings.Contains(f.Path, "[]") {
		return nil
	}
	n := c.root
	if f.parent == nil {
		return n
	}
	for name := range strings.SplitSeq(f.Path, ".") {
		e := n.entry(name)
		if e == nil {
			return nil
		}
		n = e.value
	}
	return n
}

// where is a map as a message names it.
func (f *field) where() string {
	if f.parent == nil {
		return "the file's top level"
	}
	return f.title()
}

// maxHomes is how many places a hint names; a key of more places says nothing.
const maxHomes = 3

// homes are the places where a key that map f does not take belongs: the
// nearest map around f that takes it; else maps of the same name as f; else
// maps within f; else any.
func (c *checker) homes(key string, f *field) []*field {
	for up := f.parent; up != nil; up = up.parent {
		if child := up.children[key]; child != nil {
			return []*field{child}
		}
	}
	var alike, within, all []*field
	for _, home := range c.schema.places[strings.ToLower(key)] {
		all = append(all, home)
		if f.parent != nil && home.parent.name == f.name {
			alike = append(alike, home)
		}
		if f.parent != nil && strings.HasPrefix(home.Path, f.Path+".") {
			within = append(within, home)
		}
	}
	for _, group := range [][]*field{alike, within, all} {
		if len(group) > 0 {
			if len(group) > maxHomes {
				return nil
			}
			return group
		}
	}
	return nil
}

// places names the maps that take a key.
func places(homes []*field) string {
	var names []string
	for _, home := range homes {
		if home.parent.parent == nil {
			names = append(names, "the top level")
		} else {
			names = append(names, home.parent.Path)
		}
	}
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
