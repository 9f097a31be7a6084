package spec

import (
	"strconv"
	"strings"
)

// Difference is a key that two cluster files have differently. A key that one of
// them leaves out counts as its default.
type Difference struct {
	Key Key
	// Path has lists' entries by name: Scheduling.SlurmQueues[gpu].CapacityType.
	Path string
	// Old and New are the values; empty is none. Of an entry of a list that is only in
	// one file it is the name.
	Old, New string
	// Entry says that a whole entry of a list was added or removed.
	Entry bool
}

// Added and Removed say that an entry of a list is only in the new file, or only in
// the old one.
func (d Difference) Added() bool   { return d.Entry && d.Old == "" }
func (d Difference) Removed() bool { return d.Entry && d.New == "" }

// Differences are the keys that two files have differently, in the order of the
// schema of the new one. Files that could not be read have none.
func Differences(before, after *File) []Difference {
	was, ok := before.Root()
	is, also := after.Root()
	if !ok || !also {
		return nil
	}
	d := differ{}
	d.fields(after.schema.root, was.node, is.node, "")
	return d.found
}

type differ struct{ found []Difference }

func (d *differ) fields(f *field, was, is *node, path string) {
	for _, name := range f.names {
		d.field(f.children[name], below(was, name), below(is, name), strings.TrimPrefix(path+"."+name, "."))
	}
}

func (d *differ) field(f *field, was, is *node, path string) {
	if was == nil && is == nil {
		return
	}
	switch f.Type {
	case "map":
		d.fields(f, was, is, path)
	case "list":
		d.list(f, was, is, path)
	default:
		if a, b := f.written(was), f.written(is); a != b {
			d.found = append(d.found, Difference{Key: f.Key, Path: path, Old: a, New: b})
		}
	}
}

// list compares entries of the same name, or of the same number where they have
// none.
func (d *differ) list(f *field, was, is *node, path string) {
	old, now := elementsOf(was), elementsOf(is)
	for _, e := range now.order {
		at := path + "[" + e + "]"
		if before, ok := old.entries[e]; ok {
			d.fields(f, before, now.entries[e], at)
			continue
		}
		d.found = append(d.found, Difference{Key: f.Key, Path: at, New: e, Entry: true})
	}
	for _, e := range old.order {
		if _, ok := now.entries[e]; !ok {
			d.found = append(d.found, Difference{Key: f.Key, Path: path + "[" + e + "]", Old: e, Entry: true})
		}
	}
}

// elements are a list's entries by what they are told apart by.
type elements struct {
	entries map[string]*node
	order   []string
}

func elementsOf(n *node) elements {
	l := elements{entries: map[string]*node{}}
	if n == nil {
		return l
	}
	for i, item := range n.items {
		name := strings.Trim(index("", i), "[]")
		for _, key := range []string{"Name", "Key", "InstanceType", "BucketName", "Policy"} {
			if e := item.entry(key); e != nil && e.value.kind == scalar && !e.value.null() {
				name = e.value.value
				break
			}
		}
		if _, twice := l.entries[name]; !twice {
			l.entries[name] = item
			l.order = append(l.order, name)
		}
	}
	return l
}

// below is the value of a key; nil where there is none.
func below(n *node, name string) *node {
	if n == nil {
		return nil
	}
	e := n.entry(name)
	if e == nil || e.value.null() {
		return nil
	}
	return e.value
}

// written is a value in one line, the default where there is none. Truths and
// numbers are the same in all the ways in which YAML writes them.
func (f *field) written(n *node) string {
	if n == nil {
		return f.Default
	}
	switch f.Type {
	case "bool":
		if b, ok := n.boolean(); ok {
			return strconv.FormatBool(b)
		}
	case "int":
		if i, _, ok := n.integer(); ok {
			return strconv.FormatInt(i, 10)
		}
	}
	return n.oneLine()
}

// oneLine is a value in one line, whatever it is.
func (n *node) oneLine() string {
	var parts []string
	switch n.kind {
	case mapping:
		for _, e := range n.entries {
			parts = append(parts, e.key+": "+e.value.oneLine())
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case sequence:
		for _, item := range n.items {
			parts = append(parts, item.oneLine())
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return n.value
}
