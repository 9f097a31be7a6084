package spec

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/say/count"
	"github.com/muster-hpc/muster/internal/spec/yamledit"
)

// checker holds a document against a schema.
type checker struct {
	*document
	schema  *schema
	options Options
	// budget is how many more values are looked at. Aliases can make a small
	// file stand for a huge one.
	budget int
	// missing are required keys that are not there. A key that stands at a
	// wrong place or is misspelt is in moved and not reported again.
	missing []missing
	moved   map[lack]bool
	// misplaced are keys that stand at a wrong place, or are misspelt.
	misplaced []misplaced
	// placeholders are values that cannot be AWS ids.
	placeholders []diag.Diagnostic
}

// missing is a required key that a map lacks.
type missing struct {
	lack
	path string
	at   diag.Place
}

// owner names what has no subnet.
func (c *checker) owner(m missing) string {
	owner := strings.TrimSuffix(m.path, ".Networking")
	name := ""
	if n := c.nodeAt(owner); n != nil && n.entry("Name") != nil {
		name = " " + quote(n.entry("Name").value.value)
	}
	switch {
	case strings.HasPrefix(m.field.Path, "HeadNode."):
		return "the head node"
	case strings.HasPrefix(m.field.Path, "LoginNodes."):
		return "login pool" + name
	default:
		return "queue" + name
	}
}

// check reports everything in which a document differs from a schema.
func check(d *document, s *schema, o Options) {
	c := &checker{document: d, schema: s, options: o, budget: d.size + maxShared, moved: map[lack]bool{}}
	c.value(d.root, s.root, "", d.at(d.root.line, d.root.column))
	c.graft()
	c.reportMissing()
	c.reportPlaceholders()
}

// value checks a value of any type. A problem with it is shown at at.
func (c *checker) value(n *node, f *field, path string, at diag.Place) {
	if c.spend(at, path) || n.tag == "bad" || n.word || f.Type == "raw" || f.Type == "gone" {
		return
	}
	if n.null() {
		c.errorAt(at, "schema/type", path, "%s has no value", f.title()).WithHint("give it one, or remove the key")
		return
	}
	switch f.Type {
	case "map", "dict":
		c.mapping(n, f, path, at)
	case "list", "dicts", "strings":
		c.sequence(n, f, path, at)
	default:
		c.scalar(n, f, path, at)
	}
}

// spend reports whether the budget is used up, and says so once.
func (c *checker) spend(at diag.Place, path string) bool {
	c.budget--
	if c.budget == -1 {
		c.errorAt(at, "yaml/alias", path, "the file's aliases stand for too many values").WithHint("write the values out")
	}
	return c.budget < 0 || c.full()
}

func (c *checker) mapping(n *node, f *field, path string, at diag.Place) {
	if n.kind != mapping {
		c.errorAt(at, "schema/type", path, "%s must hold keys and values, not %s", f.title(), n.describe()).
			WithHint("%s", f.keysHint())
		return
	}
	if f.Type == "dict" || f.Type == "dicts" {
		return
	}
	for i := 0; i < len(n.entries); i++ {
		e := &n.entries[i]
		if child := f.children[e.key]; child != nil {
			if shell := c.shell(n, i, f, path); shell != nil {
				e.value = shell.home
				i += c.outdented(n.entries[i+1:], f, shell)
			}
			c.value(e.value, child, join(path, e.key), c.place(e))
			continue
		}
		if other := f.foreign[e.key]; other != nil {
			c.foreignKey(e, other, join(path, e.key))
			continue
		}
		c.unknown(n, e, f, path)
	}
	c.exclude(n, f, path)
	if f.Path == "Scheduling" {
		c.scheduler(n, f, path)
	}
	for _, name := range f.names {
		if child := f.children[name]; c.requires(child) && n.entry(name) == nil {
			c.missing = append(c.missing, missing{lack{child, n}, path, at})
		}
	}
}

// requires reports whether the lack of a key is a problem.
func (c *checker) requires(f *field) bool {
	return f.Required == "Y" || f.Required == "aws" && c.options.AWS
}

// foreignKey reports a key that only other levels have. What stands below it is
// not looked at.
func (c *checker) foreignKey(e *entry, f *field, path string) {
	d := c.errorAt(c.at(e.line, e.column), "schema/level", path, "%s of %s %s; this file is read as %s",
		f.name, f.parent.where(), f.levels.history(c.schema.level), c.schema.level)
	c.levelHint(d, "remove it", f.levels)
}

// levelHint says what to do about something that only other levels have.
func (c *checker) levelHint(d *diag.Diagnostic, do string, s levelRange) {
	if near := s.near(c.schema.level); near != 0 {
		do += fmt.Sprintf(", or have the file read as %s: # muster: schema=%s", near, near)
	}
	d.WithHint("%s", do)
}

// place is where a problem with an entry is shown.
func (c *checker) place(e *entry) diag.Place { return c.at(spot(e)) }

func (c *checker) sequence(n *node, f *field, path string, at diag.Place) {
	if n.kind != sequence {
		d := c.errorAt(at, "schema/type", path, "%s must be a list, not %s", f.title(), n.describe())
		if n.kind == mapping {
			d.WithHint("begin each entry with \"- \"")
		} else {
			d.WithHint("write it as [%s]", yamledit.Clip(n.value)).WithFix(c.listed(n, f))
		}
		return
	}
	if b := f.constraint.length; b != nil && f.Type == "strings" && !b.hold(int64(len(n.items))) {
		c.errorAt(at, "schema/value", path, "%s has %s; it must have %s", f.title(), count.Of(len(n.items), "entry"), b)
	}
	for i, item := range n.items {
		if c.full() || c.budget < 0 {
			return
		}
		c.item(item, f, index(path, i))
	}
}

func (c *checker) item(n *node, f *field, path string) {
	at := c.at(n.line, n.column)
	switch {
	case c.spend(at, path) || n.tag == "bad" || n.word:
	case n.null():
		c.errorAt(at, "schema/type", path, "an entry of %s is empty", f.title()).WithHint("fill it, or remove the \"-\"")
	case f.Type == "strings":
		c.scalar(n, f, path, at)
	default:
		c.mapping(n, f, path, at)
	}
}

// scalar checks a plain value: its type, then its constraint.
func (c *checker) scalar(n *node, f *field, path string, at diag.Place) {
	if n.kind != scalar {
		what, kind := f.title(), f.describe()
		if f.Type == "strings" {
			what, kind = "an entry of "+what, "a text"
		}
		d := c.errorAt(at, "schema/type", path, "%s must be %s, not %s", what, kind, n.describe())
		if name, ok := n.placeholder(); ok {
			d.WithHint("write what %s stands for, without the braces", yamledit.Clip("{"+name+"}"))
		}
		return
	}
	switch f.Type {
	case "int":
		c.integer(n, f, path, at)
	case "bool":
		if _, ok := n.boolean(); !ok {
			c.errorAt(at, "schema/type", path, "%s must be true or false, not %s", f.title(), n.shown()).WithFix(c.truth(n))
		}
	case "float":
		v, ok := n.float()
		if !ok {
			c.errorAt(at, "schema/type", path, "%s must be a number, not %s", f.title(), n.shown())
			return
		}
		if b := f.constraint.value; b != nil && b.low != nil && v < float64(*b.low) {
			c.errorAt(at, "schema/value", path, "%s is %s; it must be %s", f.title(), yamledit.Clip(n.value), b)
		}
	default:
		c.text(n, f, path, at)
	}
}

func (c *checker) integer(n *node, f *field, path string, at diag.Place) {
	v, exact, ok := n.integer()
	if !ok && n.tag == "int" {
		c.errorAt(at, "schema/value", path, "%s is %s, which is far too large", f.title(), yamledit.Clip(n.value))
		return
	}
	if !ok {
		c.errorAt(at, "schema/type", path, "%s must be a whole number, not %s", f.title(), n.shown())
		return
	}
	if !exact {
		c.warnAt(at, "schema/type", path, "%s is taken as %d", yamledit.Clip(n.value), v).WithHint("write %d", v).
			WithFix(c.rewrite(n, fmt.Sprint(v), f.Type))
	}
	if b := f.constraint.value; b != nil && !b.hold(v) {
		c.errorAt(at, "schema/value", path, "%s is %d; it must be %s", f.title(), v, b)
	}
	if values := f.constraint.oneOf; values != nil && !slices.Contains(values, fmt.Sprint(v)) {
		c.errorAt(at, "schema/value", path, "%s cannot be %d", f.title(), v).WithHint("use one of %s", strings.Join(values, ", "))
	}
}

func (c *checker) text(n *node, f *field, path string, at diag.Place) {
	if !n.text() {
		c.errorAt(at, "schema/type", path, "%s must be a text, not %s", f.title(), n.describe()).
			WithHint("write it in quotes: \"%s\"", yamledit.Clip(n.value)).WithFix(c.quoted(n))
		return
	}
	rule := &f.constraint
	if b := rule.length; b != nil && f.Type != "strings" && !b.hold(int64(utf8.RuneCountInString(n.value))) {
		c.errorAt(at, "schema/value", path, "%s has %s; it must have %s",
			f.title(), count.Of(utf8.RuneCountInString(n.value), "character"), b)
	}
	other, foreign := rule.elsewhere[n.value]
	switch {
	case f.Path == "Scheduling.Scheduler" && goneSchedulers[strings.ToLower(n.value)] != "": // scheduler says so
	case foreign:
		d := c.errorAt(at, "schema/level", path, "%s: %s %s; this file is read as %s",
			f.title(), yamledit.Clip(n.value), other.history(c.schema.level), c.schema.level)
		c.levelHint(d, "use one of "+strings.Join(rule.oneOf, ", "), other)
	case rule.oneOf != nil && !slices.Contains(rule.oneOf, n.value):
		c.errorAt(at, "schema/value", path, "%s cannot be %s", f.title(), quote(n.value)).WithHint("%s", f.valuesHint(n.value)).
			WithFix(c.answer(n, f))
	case rule.id && n.value == "":
		c.errorAt(at, "schema/value", path, "%s is empty", f.title())
	case rule.id && !rule.pattern.matches(n.value) && c.options.AWS:
		c.errorAt(at, "aws/id", path, "%s is no AWS id", quote(n.value)).WithHint("%s", f.idHint())
	case rule.id && !rule.pattern.matches(n.value):
		c.placeholders = append(c.placeholders, diag.Diagnostic{Place: at, Message: n.value})
	case !rule.id && rule.pattern != nil && !rule.pattern.matches(n.value):
		c.errorAt(at, "schema/value", path, "%s cannot be %s", f.title(), quote(n.value)).WithHint("%s", f.patternHint())
	case rule.cidr && !network(n.value):
		c.errorAt(at, "schema/value", path, "%s is no network", quote(n.value)).
			WithHint("write a network such as 203.0.113.0/24, or a prefix list's id")
	}
}

func (c *checker) reportMissing() {
	for _, m := range c.missing {
		if c.moved[m.lack] || c.moved[lack{field: m.field}] || c.budget < 0 {
			continue
		}
		if m.field.Required == "aws" {
			c.warnAt(m.at, "network/none", join(m.path, m.field.name), "%s names no subnet; ParallelCluster refuses a file without it, muster makes the network",
				c.owner(m)).WithHint("give the subnet's id if there is one already")
			continue
		}
		d := c.errorAt(m.at, "schema/required", join(m.path, m.field.name), "%s is missing in %s",
			m.field.name, m.field.parent.title())
		if values := m.field.constraint.oneOf; values != nil {
			d.WithHint("add %s: one of %s", m.field.name, strings.Join(values, ", "))
		} else {
			d.WithHint("add %s", m.field.example())
		}
	}
}

// reportPlaceholders says once that values are no AWS ids. They are not looked
// up here, so that a file can be tried before there is an account.
func (c *checker) reportPlaceholders() {
	if len(c.placeholders) == 0 {
		return
	}
	first := c.placeholders[0]
	d := c.list.Infof("aws/placeholder", "", "%s is no AWS id, and is not looked up here", quote(first.Message)).At(first.Place)
	if n := len(c.placeholders) - 1; n > 0 {
		d.Message += fmt.Sprintf("; %d more values are like it", n)
	}
	d.WithHint("put the real ids in before the cluster goes to AWS")
}
