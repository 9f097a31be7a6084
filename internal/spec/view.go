package spec

import (
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/internal/diag"
)

// View is a value of the file together with its row of the schema, and the way
// in which rules look at a file. An absent value reads as its default. A value
// of a wrong type, which the schema's check has reported, reads as absent, so
// that rules need not look at types. A key that stands at a wrong place is seen
// at its right one.
type View struct {
	doc   *document
	field *field
	// node is nil if the file does not have the value.
	node *node
	path string
}

func (d *document) view(s *schema) View { return View{doc: d, field: s.root, node: d.root} }

// Key is the value below a key that the schema has. A key that only other
// levels have is absent.
func (v View) Key(name string) View {
	child := View{doc: v.doc, field: v.field.child(name), path: join(v.path, name)}
	if child.field == nil {
		panic("schema table: no row for " + child.path)
	}
	if v.node != nil && v.field.children[name] != nil {
		if e := v.node.entry(name); e != nil {
			child.node = e.value
		}
	}
	return child
}

// At is the value at keys that lie in each other, such as "Efa.Enabled".
func (v View) At(path string) View {
	for name := range strings.SplitSeq(path, ".") {
		v = v.Key(name)
	}
	return v
}

// Items are the entries of a list.
func (v View) Items() []View {
	if v.node == nil {
		return nil
	}
	out := make([]View, len(v.node.items))
	for i, n := range v.node.items {
		out[i] = View{doc: v.doc, field: v.field, node: n, path: index(v.path, i)}
	}
	return out
}

// Entries are the keys and values of free keys, in the file's order.
func (v View) Entries() []Entry {
	if v.node == nil {
		return nil
	}
	var out []Entry
	for _, e := range v.node.entries {
		out = append(out, Entry{Key: e.key, Value: View{doc: v.doc, field: v.field, node: e.value, path: join(v.path, e.key)}})
	}
	return out
}

// Entry is a free key with its value.
type Entry struct {
	Key   string
	Value View
}

// Present reports whether the file has the value.
func (v View) Present() bool { return v.node != nil && v.node.tag != "bad" && !v.node.null() }

// Sound reports whether nothing is wrong so far with the value, or with what
// stands below it. A rule about a value that is not sound would report the
// consequence of a problem beside the problem.
func (v View) Sound() bool { return v.doc.sound(v.path) }

// Given reports whether the file has the value and it is sound: the usual
// question of a rule.
func (v View) Given() bool { return v.Present() && v.Sound() }

// Text is the value of a plain word, as it is written.
func (v View) Text() string {
	if v.Present() && v.node.kind == scalar {
		return v.node.value
	}
	return v.field.Default
}

// Int is the value as a whole number.
func (v View) Int() int {
	if v.Present() && v.node.kind == scalar {
		if n, _, ok := v.node.integer(); ok {
			return int(n)
		}
	}
	n, _ := strconv.Atoi(v.field.Default)
	return n
}

// Float is the value as a number.
func (v View) Float() float64 {
	if v.Present() && v.node.kind == scalar {
		if f, ok := v.node.float(); ok {
			return f
		}
	}
	f, _ := strconv.ParseFloat(v.field.Default, 64)
	return f
}

// Bool is the value as a truth.
func (v View) Bool() bool {
	if v.Present() && v.node.kind == scalar {
		if b, ok := v.node.boolean(); ok {
			return b
		}
	}
	return v.field.Default == "true"
}

// Texts are the entries of a list of texts; nil is that there are none.
func (v View) Texts() []string {
	var out []string
	for _, item := range v.Items() {
		if item.node.kind == scalar {
			out = append(out, item.node.value)
		}
	}
	return out
}

// Name is the key under which the value stands; for an entry of a list, that of
// the list.
func (v View) Name() string { return v.field.title() }

// Path is the value's path in the file, such as "SharedStorage[0].Name".
func (v View) Path() string { return v.path }

// Line is the file's line of the value.
func (v View) Line() int { return v.Place().Line }

// Place is where the value stands, or what is around it if the file does not have it:
// for a problem of one value that another one tells of.
func (v View) Place() diag.Place { return v.doc.locate(v.path) }

// Errorf reports a problem at the value, or at what is around it if the file
// does not have it.
func (v View) Errorf(code, format string, args ...any) *diag.Diagnostic {
	if v.mayFollowFromHole() {
		return &diag.Diagnostic{}
	}
	return v.doc.errorAt(v.doc.locate(v.path), code, v.path, format, args...)
}

// mayFollowFromHole reports whether a value at the path, below it or beside it is not filled in: what a rule
// says of the others may be a consequence, and the template is reported already. Beside words such as CHANGE_ME
// nothing is: they are texts.
func (v View) mayFollowFromHole() bool {
	if !slices.ContainsFunc(v.doc.holes, func(h hole) bool { return !h.word }) {
		return v.node != nil && v.node.word
	}
	parent := v.path[:max(0, strings.LastIndexByte(v.path, '.'))]
	return !v.Sound() || parent != "" && !v.doc.sound(parent)
}

// Warnf is Errorf for warnings.
func (v View) Warnf(code, format string, args ...any) *diag.Diagnostic {
	if v.mayFollowFromHole() {
		return &diag.Diagnostic{}
	}
	return v.doc.warnAt(v.doc.locate(v.path), code, v.path, format, args...)
}

// Infof is Errorf for what is worth knowing.
func (v View) Infof(code, format string, args ...any) *diag.Diagnostic {
	if v.mayFollowFromHole() {
		return &diag.Diagnostic{}
	}
	return v.doc.list.Infof(code, v.path, format, args...).At(v.doc.locate(v.path))
}

// Blindf is Errorf for checks that could not look.
func (v View) Blindf(code, format string, args ...any) *diag.Diagnostic {
	return v.doc.list.Blindf(code, v.path, format, args...).At(v.doc.locate(v.path))
}
