package spec

import (
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v4"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec/yamledit"
)

const (
	// maxDepth is the deepest nesting; the schema needs nine levels.
	maxDepth = 64
	// maxShared bounds what aliases and merge keys may add to a file.
	maxShared = 100_000
)

// converter turns the parser's tree into ours.
type converter struct {
	*document
	// done are the anchored nodes that are finished, open those that are begun.
	done map[*yaml.Node]*node
	open map[*yaml.Node]bool
	// anchors are the values that names stand for.
	anchors map[string]*yaml.Node
	size    int
	// merged counts the keys that merge keys looked at.
	merged int
}

// convert gives nil after a problem that was reported.
func (c *converter) convert(y *yaml.Node, path string, depth int) *node {
	if y.Kind == yaml.AliasNode {
		return c.alias(y, path, depth)
	}
	if n := c.done[y]; n != nil {
		return n
	}
	if depth > maxDepth {
		c.fail(y, "yaml/depth", path, "the values are nested too deeply").
			WithHint("a cluster file needs no more than a dozen levels")
		return nil
	}
	if y.Anchor != "" {
		c.anchor(y)
		c.open[y] = true
		defer delete(c.open, y)
	}
	c.size++
	n := c.byKind(y, path, depth)
	if y.Anchor != "" && n != nil {
		c.done[y] = n
	}
	return n
}

// anchor notes a name that stands for two values: PyYAML allows one.
func (c *converter) anchor(y *yaml.Node) {
	if first, twice := c.anchors[y.Anchor]; twice && first != y {
		c.awsErrorAt(c.at(y.Line, y.Column), "yaml/alias", "", "ParallelCluster cannot read a second anchor &%s", yamledit.Clip(y.Anchor)).
			WithHint("give it another name")
	}
	c.anchors[y.Anchor] = y
}

func (c *converter) byKind(y *yaml.Node, path string, depth int) *node {
	switch {
	case y.Kind == yaml.MappingNode && !c.tagged(y, "!!map", path):
		return c.mapping(y, path, depth)
	case y.Kind == yaml.SequenceNode && !c.tagged(y, "!!seq", path):
		return c.sequence(y, path, depth)
	case y.Kind != yaml.ScalarNode:
		return nil
	default:
		return c.scalar(y, path)
	}
}

func (c *converter) alias(y *yaml.Node, path string, depth int) *node {
	if c.open[y.Alias] {
		c.fail(y, "yaml/alias", path, "the alias *%s stands inside of what it stands for", yamledit.Clip(y.Value)).
			WithHint("write the value out")
		return nil
	}
	return c.convert(y.Alias, path, depth)
}

func (c *converter) fail(y *yaml.Node, code, path, format string, args ...any) *diag.Diagnostic {
	return c.errorAt(c.at(y.Line, y.Column), code, path, format, args...)
}

// scalar keeps the text as it is written; what it means is for the schema.
func (c *converter) scalar(y *yaml.Node, path string) *node {
	if len(c.holes) > 0 && strings.ContainsRune(y.Value, holeMark) {
		c.spoil(path)
		return nil
	}
	n := &node{kind: scalar, tag: scalarTag(y), value: y.Value, line: y.Line, column: y.Column}
	if n.word = c.words[wordPlace{y.Line, y.Value}]; n.word {
		c.bad[path] = true // only itself: what is around it is looked at
	}
	switch n.tag {
	case "str", "int", "float", "bool", "null", "timestamp":
		if y.Style&yaml.TaggedStyle != 0 && !n.fits() {
			c.fail(y, "yaml/tag", path, "%s does not fit its tag !!%s", quote(y.Value), n.tag).WithHint("remove the tag")
			return nil
		}
		return n
	case "merge", "value":
		c.fail(y, "yaml/tag", path, "an unquoted %s cannot be read", y.Value).WithHint("put it in quotes")
	default:
		c.unknownTag(y, path)
	}
	return nil
}

// unknownTag is the error of a tag that YAML does not know. CloudFormation's are from a template that has the cluster file inside.
func (c *converter) unknownTag(y *yaml.Node, path string) {
	hint := "remove it"
	switch strings.TrimPrefix(y.ShortTag(), "!") {
	case "Ref", "Sub", "GetAtt", "ImportValue", "FindInMap", "Select", "Join", "Split", "If", "Base64", "Cidr", "GetAZs", "Transform":
		hint = "CloudFormation fills it in a template of its own; a cluster file needs the value itself, or ${NAME} and --set NAME=VALUE"
	}
	c.fail(y, "yaml/tag", path, "the tag %s is not known", quote(y.ShortTag())).WithHint("%s", hint)
}

// fits reports whether a scalar can be what its tag says.
func (n *node) fits() bool {
	ok := true
	switch n.tag {
	case "int":
		_, ok = yamlInt(n.value)
	case "float":
		_, ok = n.float()
	case "bool":
		ok = slices.Contains(boolWords, strings.ToLower(n.value))
	case "timestamp":
		ok = timeWord().MatchString(n.value)
	}
	return ok
}

// tagged reports whether a map or a list has a tag that is not its own.
func (c *converter) tagged(y *yaml.Node, own, path string) bool {
	if y.Style&yaml.TaggedStyle == 0 || y.ShortTag() == own {
		return false
	}
	c.unknownTag(y, path)
	return true
}

func (c *converter) sequence(y *yaml.Node, path string, depth int) *node {
	n := &node{kind: sequence, line: y.Line, column: y.Column, items: make([]*node, 0, len(y.Content))}
	for i, item := range y.Content {
		if v := c.convert(item, index(path, i), depth+1); v != nil {
			n.items = append(n.items, v)
		} else {
			// A bad item keeps its number, so that the others keep theirs.
			n.items = append(n.items, &node{kind: scalar, tag: "bad", line: item.Line, column: item.Column})
		}
		if c.full() {
			break
		}
	}
	return n
}

// mapping resolves merge keys as YAML says: a key of the mapping itself wins,
// and of several merged mappings the first one.
func (c *converter) mapping(y *yaml.Node, path string, depth int) *node {
	n := &node{kind: mapping, line: y.Line, column: y.Column}
	seen := make(map[string]entry, len(y.Content)/2)
	var merges []*yaml.Node
	failed := false
	for i := 0; i+1 < len(y.Content) && !c.full(); i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		if k.Kind == yaml.ScalarNode && scalarTag(k) == "merge" {
			// PyYAML can merge; ParallelCluster looks for keys that are there twice
			// in a way that cannot.
			c.awsErrorAt(c.at(k.Line, k.Column), "yaml/merge", "", "ParallelCluster cannot read merge keys").
				WithHint("write the keys out, or use an alias for the whole value")
			merges = append(merges, v)
			continue
		}
		e, ok := c.key(k, path)
		if !ok {
			failed = true
			continue
		}
		if first, twice := seen[e.key]; twice {
			c.fail(k, "yaml/duplicate", join(path, e.key), "the key %s is here twice", quote(e.key)).
				WithHint("the first is in line %d; keep one of them", first.line).WithFix(c.twin(first, k))
			continue
		}
		seen[e.key] = e
		if e.value = c.convert(v, join(path, e.key), depth+1); e.value == nil {
			e.value = &node{kind: scalar, tag: "bad", line: v.Line, column: v.Column}
		}
		n.entries = append(n.entries, e)
	}
	for _, m := range merges {
		c.merge(n, m, seen, path, depth)
	}
	if len(n.entries) == 0 && failed {
		n.tag = "bad"
	}
	return n
}

// key reads a mapping's key, which has to be a text.
func (c *converter) key(k *yaml.Node, path string) (entry, bool) {
	text := k
	if k.Kind == yaml.AliasNode {
		text = k.Alias
	}
	if text.Kind != yaml.ScalarNode {
		d := c.fail(k, "yaml/key", path, "a key must be a plain word")
		if text.Kind == yaml.MappingNode && yamledit.Flow(text) {
			d.WithHint("%s", fillIn)
		}
		return entry{}, false
	}
	n := c.scalar(text, path)
	if n == nil {
		return entry{}, false
	}
	if n.tag != "str" {
		c.fail(k, "schema/type", path, "a key must be a text, not %s", n.describe()).WithHint("write it in quotes: \"%s\"", yamledit.Clip(n.value))
		return entry{}, false
	}
	return entry{key: text.Value, line: k.Line, column: k.Column}, true
}

// merge adds what stands behind a "<<" key.
func (c *converter) merge(n *node, y *yaml.Node, seen map[string]entry, path string, depth int) {
	v := c.convert(y, path, depth+1)
	if v == nil {
		return
	}
	from := []*node{v}
	if v.kind == sequence {
		from = v.items
	}
	for _, m := range from {
		if m.tag == "bad" {
			continue
		}
		if m.kind != mapping {
			c.fail(y, "yaml/merge", path, "what << merges must be keys and values")
			return
		}
		c.merged += 1 + len(m.entries)
		if c.merged > maxShared {
			c.fail(y, "yaml/alias", path, "the file's merge keys stand for too many values").WithHint("write the values out")
			return
		}
		for _, e := range m.entries {
			if _, have := seen[e.key]; !have {
				seen[e.key] = e
				n.entries = append(n.entries, e)
			}
		}
	}
}
