package spec

import "github.com/muster-hpc/muster/internal/diag"

// Table is the schema of a file that another package has: its keys, in the columns of
// schema.tsv, the last of which says what a key means.
type Table struct {
	schema *schema
	text   string
}

// NewTable reads a table that is part of the program; a mistake in it is a mistake in the
// code.
func NewTable(text string) *Table { return &Table{schema: mustSchema(text, Newest), text: text} }

// Rows are the table's keys, for documents.
func (t *Table) Rows() []Key { return rowsOf(t.text) }

// Check holds a text against the table and says all that is wrong with it. rules, which are
// asked if the text has keys and values, say what a table cannot, and read the values: of a
// file with problems as far as they can be read. name stands for the file in diagnostics.
func (t *Table) Check(name string, data []byte, rules func(root View)) *diag.List {
	list := &diag.List{}
	d := parse(name, data, Options{}, list)
	if d == nil {
		return list
	}
	defer d.finish()
	if d.isCluster(t.schema) {
		return list
	}
	check(d, t.schema, Options{})
	if d.root.kind == mapping {
		rules(d.view(t.schema))
	}
	return list
}

// Plain reports whether the file has the value and it is one word or number, whatever its
// row in the table wants.
func (v View) Plain() bool { return v.Present() && v.node.kind == scalar }

// Listed reports whether the file has the value and it is a list.
func (v View) Listed() bool { return v.Present() && v.node.kind == sequence }

// Describe says what the value is: "the number 12", "keys and values", "nothing".
func (v View) Describe() string {
	if v.node == nil {
		return "nothing"
	}
	return v.node.describe()
}

// Keyed is the value below a key that no table has, of what holds keys and values of its own.
func (v View) Keyed(name string) View {
	child := View{doc: v.doc, field: v.field, path: join(v.path, name)}
	if v.node != nil {
		if e := v.node.entry(name); e != nil {
			child.node = e.value
		}
	}
	return child
}
