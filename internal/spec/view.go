package spec

import (
	"strconv"

	"github.com/muster-hpc/muster/internal/diag"
)

// view is a value of the file together with its row of the schema. An absent
// value reads as its default. A value of a wrong type, which check has
// reported, reads as absent, so that rules need not look at types.
type view struct {
	doc   *document
	field *field
	// node is nil if the file does not have the value.
	node *node
	path string
}

func (d *document) view(s *schema) view { return view{doc: d, field: s.root, node: d.root} }

// key is the value below a key that the schema has.
func (v view) key(name string) view {
	child := view{doc: v.doc, field: v.field.children[name], path: join(v.path, name)}
	if v.node != nil {
		if e := v.node.entry(name); e != nil {
			child.node = e.value
		}
	}
	return child
}

// items are the entries of a list.
func (v view) items() []view {
	if v.node == nil {
		return nil
	}
	out := make([]view, len(v.node.items))
	for i, n := range v.node.items {
		out[i] = view{doc: v.doc, field: v.field, node: n, path: index(v.path, i)}
	}
	return out
}

// present reports whether the file has the value.
func (v view) present() bool { return v.node != nil && v.node.tag != "bad" && !v.node.null() }

func (v view) text() string {
	if v.present() && v.node.kind == scalar {
		return v.node.value
	}
	return v.field.Default
}

func (v view) int() int {
	if v.present() && v.node.kind == scalar {
		if n, _, ok := v.node.integer(); ok {
			return int(n)
		}
	}
	n, _ := strconv.Atoi(v.field.Default)
	return n
}

func (v view) bool() bool {
	if v.present() && v.node.kind == scalar {
		if b, ok := v.node.boolean(); ok {
			return b
		}
	}
	return v.field.Default == "true"
}

// texts are the entries of a list of texts; nil is that there are none.
func (v view) texts() []string {
	var out []string
	for _, item := range v.items() {
		if item.node.kind == scalar {
			out = append(out, item.node.value)
		}
	}
	return out
}

// errorf reports a problem at the value, or at what is around it if the file
// does not have it.
func (v view) errorf(code, format string, args ...any) *diag.Diagnostic {
	return v.doc.errorAt(v.doc.locate(v.path), code, v.path, format, args...)
}

func (v view) warnf(code, format string, args ...any) *diag.Diagnostic {
	return v.doc.warnAt(v.doc.locate(v.path), code, v.path, format, args...)
}

// line is the file's line of the value.
func (v view) line() int { return v.doc.locate(v.path).Line }
