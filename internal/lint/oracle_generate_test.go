package lint_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v4"

	"github.com/muster-hpc/muster/internal/spec"
)

// byHand matches the lists that people write.
const byHand = "[rsy]*.txt"

var generate = flag.Bool("generate", false, "write the generated lists of the corpus anew")

// TestGenerateCorpus writes those lists of the corpus that nobody writes by
// hand: a wrong type, nothing and an unknown key at every place of the schema,
// and pairs of changes, drawn from a seed. The lists are kept, so that what
// ParallelCluster said to them stays right when the generator changes.
func TestGenerateCorpus(t *testing.T) {
	if !*generate {
		return
	}
	save(t, "types.txt", "Every key of the schema: with a value of a wrong type, with none, and beside one that is unknown.", everyKey(t))
	save(t, "values.txt", "Every value that the schema lists, both truths, and both ends of every range.", everyValue(t))
	save(t, "pairs.txt", "Pairs of changes from the other lists.", pairs(t, 200))
}

func save(t *testing.T, name, comment string, cases []oracleCase) {
	t.Helper()
	var out strings.Builder
	fmt.Fprintf(&out, "# %s Written by go test -run TestGenerateCorpus -generate.\n", comment)
	base := ""
	for _, c := range cases {
		if c.base != base {
			base = c.base
			fmt.Fprintf(&out, "= %s\n", base)
		}
		fmt.Fprintln(&out, c.change)
	}
	if err := os.WriteFile(filepath.Join(oracleDir, "corpus", name), []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// wrong are values of a wrong type for each type of the schema.
var wrong = map[string]string{
	"map": "text", "list": "text", "str": "[a]", "int": "abc", "float": "abc",
	"bool": "maybe", "strings": "text", "dict": "text", "dicts": "text",
}

func everyKey(t *testing.T) []oracleCase {
	known := corpus(t, byHand)
	bases := trees(t)
	var all []oracleCase
	add := func(base, change string) {
		if c := (oracleCase{base, change}); !slices.Contains(known, c) {
			all = append(all, c)
		}
	}
	for _, key := range spec.Keys(spec.Newest) {
		base, whole := baseWith(bases, strings.TrimSuffix(key.Path, "[]"))
		if base == "" {
			t.Logf("no base has what is around %s", key.Path)
			continue
		}
		if value, ok := wrong[key.Type]; ok {
			add(base, whole+" = "+value)
		}
		add(base, whole+" = ~")
		if path, ok := locate(bases[base], key.Path); ok && (key.Type == "map" || key.Type == "list") {
			add(base, path+".Unknown = 1")
		}
	}
	slices.SortStableFunc(all, func(a, b oracleCase) int { return strings.Compare(a.base, b.base) })
	return all
}

func everyValue(t *testing.T) []oracleCase {
	known := append(corpus(t, byHand), corpus(t, "types.txt")...)
	bases := trees(t)
	var all []oracleCase
	for _, key := range spec.Keys(spec.Newest) {
		base, at := baseWith(bases, strings.TrimSuffix(key.Path, "[]"))
		for _, value := range valuesOf(key) {
			c := oracleCase{base, at + " = " + value}
			if base != "" && !slices.Contains(known, c) {
				all = append(all, c)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b oracleCase) int { return strings.Compare(a.base, b.base) })
	return all
}

func valuesOf(key spec.Key) []string {
	if key.Type == "bool" {
		return []string{"true", "false"}
	}
	var all []string
	for term := range strings.FieldsSeq(key.Constraint) {
		word, rest, _ := strings.Cut(term, ":")
		switch {
		case word == "in" && key.Type == "strings":
			all = append(all, "["+rest+"]")
		case word == "in":
			all = append(all, strings.Split(rest, ",")...)
		case word == "range":
			low, high, _ := strings.Cut(rest, "..")
			all = append(all, low, high)
		}
	}
	return slices.DeleteFunc(all, func(v string) bool { return v == "" })
}

func trees(t *testing.T) map[string]*yaml.Node {
	t.Helper()
	all := map[string]*yaml.Node{}
	files, _ := filepath.Glob(oracleDir + "/base/*.yaml")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var tree yaml.Node
		if err := yaml.Unmarshal(data, &tree); err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".yaml")] = tree.Content[0]
	}
	return all
}

// baseWith is a base that has the value at a path of the schema, or else what
// is around it, and the path in that base.
func baseWith(bases map[string]*yaml.Node, path string) (base, at string) {
	parent, last := "", path
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		parent, last = path[:i], path[i:]
	}
	names := slices.Sorted(maps.Keys(bases))
	for _, name := range names {
		if at, ok := locate(bases[name], path); ok {
			return name, at
		}
	}
	for _, name := range names {
		if at, ok := locate(bases[name], parent); ok {
			return name, at + last
		}
	}
	return "", ""
}

// locate is the place of the first value at a path of the schema, whose lists
// have no numbers.
func locate(n *yaml.Node, path string) (string, bool) {
	if path == "" {
		return "", true
	}
	name, rest, _ := strings.Cut(path, ".")
	plain := strings.TrimSuffix(name, "[]")
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if n.Content[i].Value != plain {
			continue
		}
		if plain == name {
			return below(n.Content[i+1], plain, rest)
		}
		for k, item := range n.Content[i+1].Content {
			if at, ok := below(item, fmt.Sprintf("%s[%d]", plain, k), rest); ok {
				return at, true
			}
		}
	}
	return "", false
}

func below(n *yaml.Node, at, rest string) (string, bool) {
	deeper, ok := locate(n, rest)
	if deeper != "" {
		at += "." + deeper
	}
	return at, ok
}

var place = regexp.MustCompile(`^[^=]* = `)

// pairs joins two changes of the hand-written lists that touch different keys.
func pairs(t *testing.T, n int) []oracleCase {
	t.Helper()
	byBase := map[string][]string{}
	for _, c := range corpus(t, byHand) {
		if place.MatchString(c.change) && !strings.Contains(c.change, "text: ") && len(c.change) < 300 {
			byBase[c.base] = append(byBase[c.base], c.change)
		}
	}
	names := slices.Sorted(maps.Keys(byBase))
	random := rand.New(rand.NewPCG(20261121, 5))
	var all []oracleCase
	for len(all) < n {
		base := names[random.IntN(len(names))]
		lines := byBase[base]
		a, b := lines[random.IntN(len(lines))], lines[random.IntN(len(lines))]
		c := oracleCase{base, a + " & " + b}
		if place.FindString(a) == place.FindString(b) || slices.Contains(all, c) {
			continue
		}
		if _, err := c.document(); err == nil {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b oracleCase) int { return strings.Compare(a.base, b.base) })
	return all
}
