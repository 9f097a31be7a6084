package spec

import (
	"fmt"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v4"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec/yamledit"
)

// These are the schema's own fixes: nil where a problem has more than one right
// answer, or its place does not allow a sure change.

// slotOf is where a value stands, and nil if an alias stands for it.
func (d *document) slotOf(n *node) (*yamledit.Layout, *yamledit.Slot) {
	l := d.layout()
	if l == nil {
		return nil, nil
	}
	s := l.ValueAt(n.line, n.column, yaml.ScalarNode)
	if n.kind != scalar || s == nil || s.Shared {
		return nil, nil
	}
	return l, s
}

// rewrite gives a plain value another text.
func (d *document) rewrite(n *node, value, typ string) *diag.Fix {
	l, s := d.slotOf(n)
	if s == nil {
		return nil
	}
	return l.Replace(s, value, typ)
}

// answer is the value that was meant where a key takes only certain ones.
func (d *document) answer(n *node, f *field) *diag.Fix {
	l, s := d.slotOf(n)
	if s == nil {
		return nil
	}
	value := f.meant(n.value)
	if f.name == "DeploymentType" && strings.EqualFold(n.value, "PERSISTENT") {
		value = persistent[s.Sibling("PerUnitStorageThroughput")]
	}
	if !slices.Contains(f.constraint.oneOf, value) {
		return nil
	}
	return l.Replace(s, value, f.Type)
}

// meant is the only one of a key's values that a word can stand for; empty is that there
// are none or several.
func (f *field) meant(word string) string {
	values := f.constraint.oneOf
	if v := systemNames[strings.ToLower(word)]; f.name == "Os" && slices.Contains(values, v) {
		return v
	}
	return diag.Surely(word, values)
}

// systemNames are other names that people and tools give to operating systems.
var systemNames = map[string]string{
	"al2": "alinux2", "amazonlinux2": "alinux2", "amazon-linux-2": "alinux2", "amzn2": "alinux2",
	"al2023": "alinux2023", "amazonlinux2023": "alinux2023", "amazon-linux-2023": "alinux2023", "amzn2023": "alinux2023",
	"ubuntu20": "ubuntu2004", "focal": "ubuntu2004", "ubuntu22": "ubuntu2204", "jammy": "ubuntu2204",
	"ubuntu24": "ubuntu2404", "noble": "ubuntu2404", "rockylinux8": "rocky8", "rockylinux9": "rocky9",
}

// persistent is the deployment type that alone has a throughput in MB/s for each
// TiB (FSx for Lustre's performance tables; 125 and 250 are PERSISTENT_2's only).
var persistent = map[string]string{
	"125": "PERSISTENT_2", "250": "PERSISTENT_2", "500": "PERSISTENT_2", "1000": "PERSISTENT_2",
	"12": "PERSISTENT_1", "40": "PERSISTENT_1", "50": "PERSISTENT_1", "100": "PERSISTENT_1", "200": "PERSISTENT_1",
}

// truth writes a boolean as YAML does, if its letters leave no doubt.
func (d *document) truth(n *node) *diag.Fix {
	switch strings.ToLower(strings.TrimSpace(n.value)) {
	case "true", "yes", "on", "enabled":
		return d.rewrite(n, "true", "bool")
	case "false", "no", "off", "disabled":
		return d.rewrite(n, "false", "bool")
	default:
		return nil
	}
}

// quoted makes a text of a number, a date or a truth value.
func (d *document) quoted(n *node) *diag.Fix {
	return d.around(n, `"`, `"`, "put "+yamledit.Clip(n.value)+" in quotes")
}

// listed makes a list of its only entry.
func (d *document) listed(n *node, f *field) *diag.Fix {
	if f.Type != "strings" || n.value == "" || strings.ContainsAny(n.value, ",[]{}# \t") {
		return nil
	}
	return d.around(n, "[", "]", fmt.Sprintf("make a list of %s", yamledit.Clip(n.value)))
}

// around puts something around a value.
func (d *document) around(n *node, before, after, title string) *diag.Fix {
	l, s := d.slotOf(n)
	if s == nil {
		return nil
	}
	return l.Around(s, before, after, title)
}

// respell gives an entry the key that was meant: known is what Nearest found.
func (d *document) respell(e *entry, known string, keys []string) *diag.Fix {
	l := d.layout()
	if l == nil || diag.Surely(e.key, keys) != known {
		return nil
	}
	s := l.KeyAt(e.line, e.column)
	return l.Rename(s, known)
}

// rehouse moves an entry to the map that takes its key; nil is that there is none.
func (d *document) rehouse(e *entry, field *field, home *node) *diag.Fix {
	l := d.layout()
	if l == nil {
		return nil
	}
	key := l.KeyAt(e.line, e.column)
	if key == nil {
		return nil
	}
	s := l.Whole(key)
	return l.Move(s, mapOf(l, home), field.name, field.parent.title())
}

// twin takes an entry away whose key and value are there before it.
func (d *document) twin(first entry, again *yaml.Node) *diag.Fix {
	l := d.layout()
	if l == nil {
		return nil
	}
	a := l.KeyAt(first.line, first.column)
	b := l.KeyAt(again.Line, again.Column)
	if a == nil || b == nil || !yamledit.Twins(a, b) {
		return nil
	}
	return l.Remove(l.Whole(b), "remove the second "+yamledit.Clip(first.key))
}

// indent puts entries into the map without a value before them.
func (d *document) indent(shell *entry, below []entry) *diag.Fix {
	l := d.layout()
	if l == nil {
		return nil
	}
	return l.Indent(l.KeyAt(shell.line, shell.column), len(below), below[len(below)-1].key)
}
