package spec

import (
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
)

// unknown reports a key that a map does not take, and says where it belongs or
// what was meant. What stands below the key is checked as if it were right, so
// that one round shows all problems.
func (c *checker) unknown(n *node, e *entry, f *field, path string) {
	path = join(path, e.key)
	at := c.at(e.line, e.column)
	d := c.errorAt(at, "schema/unknown", path, "%s is not a key of %s", quote(e.key), f.where())
	if c.full() {
		return
	}
	homes := c.homes(e.key, f)
	near := diag.Nearest(e.key, f.names)
	var meant *field
	switch {
	case near != "" && (strings.EqualFold(near, e.key) || len(homes) == 0):
		d.WithHint("did you mean %s?", near)
		if n.entry(near) == nil {
			meant = f.children[near]
		}
	case len(homes) > 0:
		d.WithHint("%s belongs under %s", homes[0].name, places(homes))
		if len(homes) == 1 {
			meant = homes[0]
		}
	default:
		d.WithHint("%s", f.keysHint())
	}
	if meant != nil {
		c.moved[meant] = true
		c.value(e.value, meant, path, c.place(e))
	}
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
