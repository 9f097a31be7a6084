package spec

import (
	"slices"
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
	// from is the path of the map that it stands in.
	from string
}

// lack is a key that a map has at a wrong place or misspelt; a nil map is any.
type lack struct {
	field *field
	in    *node
}

// graft puts what was understood to where it belongs, and checks it there, so
// that rules see it and one round shows all problems.
func (c *checker) graft() {
	for len(c.misplaced) > 0 && !c.full() && c.budget >= 0 {
		m := c.misplaced[0]
		c.misplaced = c.misplaced[1:]
		if m.home == nil {
			m.home, m.homePath = c.build(m.field.parent, m.from, &m.entry)
		}
		c.moved[lack{m.field, m.home}] = true
		at := c.place(&m.entry)
		if m.home != nil && m.home.kind == mapping && m.home.entry(m.field.name) == nil && !m.entry.value.holds(m.home, map[*node]bool{}) {
			m.entry.key = m.field.name
			m.home.entries = append(m.home.entries, m.entry)
			m.path = join(m.homePath, m.field.name)
		}
		c.value(m.entry.value, m.field, m.path, at)
	}
}

// holds reports whether a node is another one or has it below it, which an alias
// can make so. Putting it there would make a circle.
func (n *node) holds(other *node, seen map[*node]bool) bool {
	if n == other {
		return true
	}
	if n.kind == scalar || seen[n] {
		return false
	}
	seen[n] = true
	for i := range n.entries {
		if n.entries[i].value.holds(other, seen) {
			return true
		}
	}
	return slices.ContainsFunc(n.items, func(item *node) bool { return item.holds(other, seen) })
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
	names := f.fitting(e.value)
	near := diag.Nearest(e.key, names)
	if near == "" {
		names = f.names
		near = diag.Nearest(e.key, names)
	}
	switch {
	case oldKeys[e.key] != "" && !strings.EqualFold(near, strings.ReplaceAll(e.key, "_", "")):
		d.WithHint("it is a key of ParallelCluster 2; now it is %s", oldKeys[e.key])
	case near != "" && (oldKeys[e.key] != "" || strings.EqualFold(near, e.key) || near == e.key+"s" || near+"s" == e.key || len(homes) == 0):
		d.WithHint("did you mean %s?", near).WithFix(c.respell(e, near, names))
		if n.entry(near) == nil {
			c.misplaced = append(c.misplaced, misplaced{path: path, entry: *e, home: n, homePath: parent, field: f.children[near]})
		}
	case len(homes) > 0:
		d.WithHint("%s belongs under %s", homes[0].name, places(homes))
		if len(homes) == 1 {
			home, homePath := c.home(homes[0].parent, parent)
			d.WithFix(c.rehouse(e, homes[0], home))
			c.misplaced = append(c.misplaced, misplaced{path: path, entry: *e, home: home, homePath: homePath, field: homes[0], from: parent})
		}
	case len(c.schema.foreign[strings.ToLower(e.key)]) > 0:
		other := c.schema.foreign[strings.ToLower(e.key)][0]
		d.WithHint("%s of %s %s; this file is read as %s", other.name, places([]*field{other}), other.levels.history(c.schema.level), c.schema.level)
	default:
		d.WithHint("%s", f.keysHint())
	}
}

// shell is a map without a value, where the keys that belong into it stand behind
// it and are not indented. It is nil if entry i is none.
func (c *checker) shell(n *node, i int, f *field, path string) *misplaced {
	e := n.entries[i]
	child := f.children[e.key]
	if child.Type != "map" || !e.value.null() || i+1 == len(n.entries) {
		return nil
	}
	next := n.entries[i+1].key
	if f.children[next] != nil || child.children[next] == nil {
		return nil
	}
	made := &node{kind: mapping, line: e.value.line, column: e.value.column}
	return &misplaced{entry: e, home: made, homePath: join(path, e.key), field: child, from: path}
}

// outdented reports the keys behind the map that they belong into, and how many
// they are.
func (c *checker) outdented(entries []entry, f *field, shell *misplaced) int {
	below := entries
	for i := range entries {
		if f.children[entries[i].key] != nil || shell.field.children[entries[i].key] == nil {
			below = entries[:i]
			break
		}
	}
	for i := range below {
		e := &below[i]
		path := join(shell.from, e.key)
		d := c.errorAt(c.at(e.line, e.column), "schema/unknown", path, "%s is not a key of %s", quote(e.key), f.where()).
			WithHint("indent it: it belongs under %s, which is empty", shell.field.name)
		if i == 0 {
			d.WithFix(c.indent(&shell.entry, below))
		}
		c.misplaced = append(c.misplaced, misplaced{path: path, entry: *e, home: shell.home, homePath: shell.homePath, field: shell.field.children[e.key]})
	}
	return len(below)
}

// fitting are the keys that can hold a value of such a kind.
func (f *field) fitting(n *node) []string {
	var names []string
	for _, name := range f.names {
		if f.children[name].holder() == n.kind {
			names = append(names, name)
		}
	}
	return names
}

// holder is the kind of value that a key holds.
func (f *field) holder() kind {
	switch f.Type {
	case "map", "dict":
		return mapping
	case "list", "dicts", "strings":
		return sequence
	default:
		return scalar
	}
}

// home is the value of a field that is meant where the file has a key below from,
// and its path: what is around both is the same. It is nil if the file has none,
// or if there can be several.
func (c *checker) home(f *field, from string) (*node, string) {
	path, ok := pathNear(f, from)
	if !ok {
		return nil, ""
	}
	if path == "" {
		return c.root, path
	}
	return c.nodeAt(path), path
}

// pathNear is the path of a field, with the numbers of lists as in a path that
// is near. It is false if the number of a list stays open.
func pathNear(f *field, from string) (string, bool) {
	if f.parent == nil {
		return "", true
	}
	near := strings.Split(from, ".")
	steps := strings.Split(f.Path, ".")
	same := true
	for i, step := range steps {
		name, list := strings.CutSuffix(step, "[]")
		same = same && i < len(near) && (near[i] == name || strings.HasPrefix(near[i], name+"["))
		switch {
		case same:
			steps[i] = near[i]
		case list:
			return "", false
		}
	}
	return strings.Join(steps, "."), true
}

// build makes the map of a field that the file lacks, for an entry that belongs
// there, in a map that it has.
func (c *checker) build(f *field, from string, e *entry) (*node, string) {
	path, ok := pathNear(f, from)
	if !ok || f.parent == nil || f.Type != "map" {
		return nil, ""
	}
	around, _ := c.home(f.parent, from)
	if around == nil || around.kind != mapping || around.entry(f.name) != nil {
		return nil, ""
	}
	if f.Required == "aws" {
		c.moved[lack{f, around}] = true
	}
	made := &node{kind: mapping, line: e.line, column: e.column}
	around.entries = append(around.entries, entry{key: f.name, line: e.line, column: e.column, value: made})
	return made, path
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
