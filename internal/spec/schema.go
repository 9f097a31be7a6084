package spec

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed schema.tsv
var clusterTable string

//go:embed workload.tsv
var workloadTable string

// The tables are read when they are first needed, not when the program starts.
var (
	clusterSchema  = sync.OnceValue(func() *schema { return mustSchema(clusterTable) })
	workloadSchema = sync.OnceValue(func() *schema { return mustSchema(workloadTable) })
)

// Key is a row of a schema: a key that a file may have.
type Key struct {
	// Path is from the top of the file. A name that ends in [] is a list.
	Path string
	// Type is map, list, str, int, float, bool, strings, dict, dicts or raw.
	Type string
	// Required is "Y", "aws" (only where AWS is asked) or empty.
	Required string
	// Constraint is in the language of schema.tsv.
	Constraint string
	// Default is the value of an absent key, if that is one value.
	Default string
	// UpdatePolicy is ParallelCluster's name of what a change needs.
	UpdatePolicy string
	// Level are the schema levels that have the key, empty for all.
	Level string
}

// Keys are the cluster file's keys in the order of their paths.
func Keys() []Key { return slices.Clone(clusterSchema().keys) }

// schema is a table as a tree.
type schema struct {
	keys []Key
	root *field
	// places are the paths of the maps that take a key.
	places map[string][]*field
}

// field is a key with what stands below it.
type field struct {
	Key
	name       string
	parent     *field
	constraint constraint
	children   map[string]*field
	// names are those of the children, in order.
	names []string
}

// constraint is what a value must satisfy.
type constraint struct {
	oneOf   []string
	pattern *regexp.Regexp
	id      bool
	cidr    bool
	value   *bounds
	length  *bounds
}

// bounds are inclusive; a missing end is none.
type bounds struct{ low, high *int64 }

func (b *bounds) hold(n int64) bool {
	return (b.low == nil || n >= *b.low) && (b.high == nil || n <= *b.high)
}

func (b *bounds) String() string {
	switch {
	case b.low == nil:
		return fmt.Sprintf("at most %d", *b.high)
	case b.high == nil:
		return fmt.Sprintf("at least %d", *b.low)
	case *b.low == *b.high:
		return fmt.Sprintf("%d", *b.low)
	default:
		return fmt.Sprintf("from %d to %d", *b.low, *b.high)
	}
}

// mustSchema reads a table that is part of the program; a mistake in it is a
// mistake in the code.
func mustSchema(table string) *schema {
	s := &schema{root: &field{Key: Key{Type: "map"}}, places: map[string][]*field{}}
	for line := range strings.Lines(table) {
		line = strings.TrimRight(line, "\n")
		if line != "" && !strings.HasPrefix(line, "#") {
			s.add(parseKey(line))
		}
	}
	return s
}

func parseKey(line string) Key {
	c := append(strings.Split(line, "\t"), make([]string, 7)...)
	return Key{
		Path: c[0], Type: c[1], Required: c[2], Constraint: c[3],
		Default: c[4], UpdatePolicy: c[5], Level: c[6],
	}
}

func (s *schema) add(k Key) {
	parent, name := s.root, k.Path
	if i := strings.LastIndexByte(k.Path, '.'); i >= 0 {
		parent, name = s.find(k.Path[:i]), k.Path[i+1:]
	}
	name = strings.TrimSuffix(name, "[]")
	f := &field{Key: k, name: name, parent: parent, constraint: parseConstraint(k.Constraint)}
	if parent.children == nil {
		parent.children = map[string]*field{}
	}
	parent.children[name] = f
	parent.names = append(parent.names, name)
	s.keys = append(s.keys, k)
	s.places[strings.ToLower(name)] = append(s.places[strings.ToLower(name)], f)
}

// find is the field of a path that exists.
func (s *schema) find(path string) *field {
	f := s.root
	for name := range strings.SplitSeq(path, ".") {
		f = f.children[strings.TrimSuffix(name, "[]")]
		if f == nil {
			panic("schema table: no row for " + path)
		}
	}
	return f
}

func parseConstraint(text string) constraint {
	var c constraint
	for term := range strings.FieldsSeq(text) {
		word, rest, _ := strings.Cut(term, ":")
		switch word {
		case "in":
			c.oneOf = strings.Split(rest, ",")
		case "re", "id":
			c.pattern, c.id = regexp.MustCompile(rest), word == "id"
		case "range":
			c.value = parseBounds(rest)
		case "len":
			c.length = parseBounds(rest)
		case "cidr":
			c.cidr = true
		default:
			panic("schema table: constraint " + term)
		}
	}
	return c
}

func parseBounds(text string) *bounds {
	low, high, _ := strings.Cut(text, "..")
	return &bounds{low: parseBound(low), high: parseBound(high)}
}

func parseBound(text string) *int64 {
	if text == "" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic("schema table: bound " + text)
	}
	return &n
}
