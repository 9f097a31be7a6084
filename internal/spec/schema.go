package spec

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed schema.tsv
var clusterTable string

//go:embed workload.tsv
var workloadTable string

// The tables are read when they are first needed, not when the program starts.
var (
	clusterSchemas = atLevels(func(l Level) *schema { return mustSchema(clusterTable, l) })
	workloadSchema = sync.OnceValue(func() *schema { return mustSchema(workloadTable, Newest) })
)

// atLevels are the values that a function has for each level, made when they are
// first needed.
func atLevels(value func(Level) *schema) map[Level]func() *schema {
	all := map[Level]func() *schema{}
	for _, l := range Levels() {
		all[l] = sync.OnceValue(func() *schema { return value(l) })
	}
	return all
}

// clusterSchema is the cluster file's schema at a level.
func clusterSchema(l Level) *schema { return clusterSchemas[l.orNewest()]() }

// Key is a row of a schema: a key that a file may have.
type Key struct {
	// Path is from the top of the file. A name that ends in [] is a list.
	Path string
	// Type is map, list, str, int, float, bool, strings, dict, dicts or raw;
	// gone is a key that is known and never taken.
	Type string
	// Required is "Y", "aws" (ParallelCluster requires it, muster makes it) or
	// empty.
	Required string
	// Constraint is in the language of schema.tsv.
	Constraint string
	// Default is the value of an absent key, if that is one value.
	Default string
	// UpdatePolicy is ParallelCluster's name of what a change needs.
	UpdatePolicy string
	// Levels are the schema levels that have the key, empty for all.
	Levels string
	// Use is "model" for a key that the Cluster repeats; of muster.yaml's keys, what
	// they mean.
	Use string
}

// Keys are the cluster file's keys at a level, in the order of their paths,
// with what holds at that level.
func Keys(l Level) []Key {
	var keys []Key
	s := clusterSchema(l)
	for _, f := range s.fields {
		if f.levels.has(s.level) && f.Type != "gone" {
			k := f.Key
			k.Constraint = atLevel(k.Constraint, s.level)
			keys = append(keys, k)
		}
	}
	return keys
}

// schema is a table as a tree, at one level.
type schema struct {
	level  Level
	fields []*field
	root   *field
	// places are the rows of a key, by its name in small letters; foreign are those
	// of keys that only other levels have.
	places, foreign map[string][]*field
	// patterns are those of all keys, by their text.
	patterns map[string]*tablePattern
}

// field is a key with what stands below it.
type field struct {
	Key
	name       string
	levels     levelRange
	parent     *field
	constraint constraint
	children   map[string]*field
	// names are those of the children, in order.
	names []string
	// foreign are the children that only other levels have.
	foreign map[string]*field
}

// child is a row below a field, also one of another level.
func (f *field) child(name string) *field {
	if c := f.children[name]; c != nil {
		return c
	}
	return f.foreign[name]
}

// mustSchema reads a table that is part of the program; a mistake in it is a
// mistake in the code.
func mustSchema(table string, l Level) *schema {
	s := &schema{
		level: l, root: &field{Key: Key{Type: "map"}}, places: map[string][]*field{}, foreign: map[string][]*field{},
		patterns: map[string]*tablePattern{},
	}
	for line := range strings.Lines(table) {
		line = strings.TrimRight(line, "\n")
		if line != "" && !strings.HasPrefix(line, "#") {
			s.add(parseKey(line))
		}
	}
	return s
}

func parseKey(line string) Key {
	c := append(strings.Split(line, "\t"), make([]string, 8)...)
	return Key{
		Path: c[0], Type: c[1], Required: c[2], Constraint: c[3],
		Default: c[4], UpdatePolicy: c[5], Levels: c[6], Use: c[7],
	}
}

func (s *schema) add(k Key) {
	parent, name := s.root, k.Path
	if i := strings.LastIndexByte(k.Path, '.'); i >= 0 {
		parent, name = s.find(k.Path[:i]), k.Path[i+1:]
	}
	name = strings.TrimSuffix(name, "[]")
	k.Default, k.UpdatePolicy = atLevel(k.Default, s.level), atLevel(k.UpdatePolicy, s.level)
	f := &field{Key: k, name: name, parent: parent, levels: parseRange(k.Levels), constraint: s.constraint(k.Constraint)}
	s.fields = append(s.fields, f)
	if !f.levels.has(s.level) {
		parent.foreign = put(parent.foreign, f)
		s.foreign[strings.ToLower(name)] = append(s.foreign[strings.ToLower(name)], f)
		return
	}
	parent.children = put(parent.children, f)
	if k.Type == "gone" {
		return
	}
	parent.names = append(parent.names, name)
	s.places[strings.ToLower(name)] = append(s.places[strings.ToLower(name)], f)
}

func put(m map[string]*field, f *field) map[string]*field {
	if m == nil {
		m = map[string]*field{}
	}
	m[f.name] = f
	return m
}

// find is the field of a path that exists.
func (s *schema) find(path string) *field {
	f := s.root
	for name := range strings.SplitSeq(path, ".") {
		f = f.child(strings.TrimSuffix(name, "[]"))
		if f == nil {
			panic("schema table: no row for " + path)
		}
	}
	return f
}
