package stack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/sys/golden"
)

// folded is a document as its golden says it: the parts (members of members) that differ
// from those of another document, each as what differs from the part that is most alike.
// Words stand for names that differ between the documents. golden.Unfold reads it.
type folded struct {
	file  string
	base  *folded
	words map[string]string
	body  []byte
}

// check compares the document with its golden, and with what the golden is read as.
func (f folded) check(t *testing.T) {
	t.Helper()
	golden.Check(t, f.file, f.text(t))
	body, err := golden.Unfold("testdata", f.file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decoded(t, f.body), decoded(t, body)); diff != "" {
		t.Errorf("%s is not read as the document that it was made of (-want +got):\n%s", f.file, diff)
	}
}

func (f folded) text(t *testing.T) string {
	var out strings.Builder
	base := parts{}
	if f.base != nil {
		fmt.Fprintf(&out, "base %s\n", f.base.file)
		base = f.base.parts(t)
	}
	for _, word := range slices.Sorted(maps.Keys(f.words)) {
		fmt.Fprintf(&out, "%s is %s\n", word, f.words[word])
	}
	own := f.parts(t)
	all := maps.Clone(base)
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if !maps.Equal(all[name], own[name]) {
			fmt.Fprintf(&out, "\n%s\n", strings.Join(all.nearest(name, own[name]), "\n"))
			all[name] = own[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(base)) {
		if own[name] == nil {
			fmt.Fprintf(&out, "\n%s gone\n", name)
		}
	}
	return out.String()
}

// parts are the values of each part by their paths, as JSON.
type parts map[string]map[string]string

// parts are the document's, with words in the place of names.
func (f folded) parts(t *testing.T) parts {
	body := f.body
	for _, word := range slices.Sorted(maps.Keys(f.words)) {
		name := regexp.MustCompile(`\b` + regexp.QuoteMeta(f.words[word]) + `\b`)
		body = name.ReplaceAllLiteral(body, []byte(word))
	}
	out := parts{}
	out.add(nil, decoded(t, body))
	return out
}

// wide is the length at which a value is written in several lines.
const wide = 110

// add takes a value apart until it is short, or has no members. A list of objects is taken
// apart in any case: one with another element at its end then differs in one line.
func (p parts) add(path []string, value any) {
	const depth = 2 // of a part's name
	text := encoded(value)
	if below := members(value); len(below) > 0 && (len(path) < depth || len(text) > wide || strings.HasPrefix(text, "[{")) {
		for name, member := range below {
			p.add(append(slices.Clone(path), name), member)
		}
		return
	}
	cut := min(depth, len(path))
	part, rest := strings.Join(path[:cut], "."), strings.Join(append([]string{""}, path[cut:]...), ".")
	if p[part] == nil {
		p[part] = map[string]string{}
	}
	p[part][rest] = text
}

// members are those of an object, the elements of a list, or the lines of a text.
func members(value any) map[string]any {
	switch value := value.(type) {
	case map[string]any:
		return value
	case []any:
		out := map[string]any{}
		for i, element := range value {
			out[strconv.Itoa(i)] = element
		}
		return out
	case string:
		out := map[string]any{}
		for line := range strings.Lines(value) {
			out["|."+strconv.Itoa(len(out))] = line
		}
		if len(out) > 1 {
			return out
		}
	}
	return nil
}

func encoded(value any) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		panic(err) // the value was decoded from JSON
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func decoded(t *testing.T, body []byte) (out map[string]any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	return out
}

// nearest writes a part in the fewest lines: whole, or as what differs from the part of
// its name, or from another one of its type.
func (p parts) nearest(name string, part map[string]string) []string {
	best := append([]string{name}, differences(nil, part)...)
	for _, other := range append([]string{name}, slices.Sorted(maps.Keys(p))...) {
		if other == name || part[".Type"] != "" && p[other][".Type"] == part[".Type"] {
			if got := differences(p[other], part); len(got)+1 < len(best) {
				best = append([]string{name + " like " + other}, got...)
			}
		}
	}
	return best
}

func differences(from, to map[string]string) (out []string) {
	for path := range from {
		if _, ok := to[path]; !ok {
			out = append(out, "  "+path+" gone")
		}
	}
	for path, value := range to {
		if from[path] != value {
			out = append(out, "  "+path+" = "+value)
		}
	}
	slices.SortFunc(out, inOrder)
	return out
}

var number = regexp.MustCompile(`\.\d+`)

// inOrder sorts lines; elements of lists by their numbers.
func inOrder(a, b string) int {
	padded := func(line string) string {
		path, rest, _ := strings.Cut(line[2:], " ")
		return number.ReplaceAllStringFunc(path, func(n string) string { return fmt.Sprintf(".%4s", n[1:]) }) + " " + rest
	}
	return strings.Compare(padded(a), padded(b))
}

func TestFolded_is_what_differs(t *testing.T) {
	colour := strings.Repeat("green and ", 12) + "blue"
	base := &folded{file: "base.txt", words: map[string]string{"{name}": "one"}, body: []byte(`{
		"Title": "about one", "Things": {
			"Car": {"Type": "car", "Wheels": 4, "Colour": "` + colour + `", "Parts": ["engine", "seat", "door"], "Owner": {"Name": "one", "Town": "York"}},
			"Text": "#!/bin/sh\nset -e\necho one\nexit\n# ` + colour + `", "Gone": {}}}`)}
	got := folded{file: "other.txt", base: base, words: map[string]string{"{name}": "two"}, body: []byte(`{
		"Title": "about two", "Things": {
			"Car": {"Type": "car", "Wheels": 3, "Colour": "` + colour + `", "Parts": ["engine", "belt", "seat", "door"], "Owner": {"Name": "two"}},
			"Car2": {"Type": "car", "Wheels": 4, "Colour": "` + colour + `", "Parts": ["engine", "seat", "door"], "Owner": {"Name": "two", "Town": "Leeds"}},
			"Text": "#!/bin/sh\nset -e\necho two\nexit 1\n# ` + colour + `"}}`)}.text(t)
	want := `base base.txt
{name} is two

Things.Car like Things.Car
  .Owner = {"Name":"{name}"}
  .Parts = ["engine","belt","seat","door"]
  .Wheels = 3

Things.Car2 like Things.Car
  .Owner = {"Name":"{name}","Town":"Leeds"}
  .Parts = ["engine","seat","door"]
  .Wheels = 4

Things.Text like Things.Text
  .|.3 = "exit 1\n"

Things.Gone gone
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFolded_loses_nothing(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		dir := t.TempDir()
		base := folded{file: "base.txt", body: document(r)}
		other := folded{file: "other.txt", base: &base, body: document(r), words: map[string]string{"{a}": "a"}}
		for _, f := range []folded{base, other} {
			text := f.text(t)
			if err := os.WriteFile(filepath.Join(dir, f.file), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := golden.Unfold(dir, f.file)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			if have, want := decoded(t, got), decoded(t, f.body); !reflect.DeepEqual(have, want) {
				t.Fatalf("seed %d: -want +got:\n%s\n%s", seed, cmp.Diff(want, have), text)
			}
		}
	}
}

// document is one of JSON, of few names and values, so that two are alike in much.
func document(r *rand.Rand) []byte {
	doc := map[string]any{"Version": tree(r, 0), "None": map[string]any{}}
	for _, section := range []string{"A", "B"} {
		members := map[string]any{}
		for i := range 1 + r.IntN(5) {
			members[fmt.Sprintf("Part%d", i)] = tree(r, 3)
		}
		doc[section] = members
	}
	body, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return body
}

func tree(r *rand.Rand, depth int) any {
	names := []string{"Type", "a", "bc", "d-e", `f"g`, "Fn::Sub"}
	switch kind := r.IntN(10); {
	case kind < 4 && depth > 0:
		out := map[string]any{}
		for _, name := range names[:1+r.IntN(len(names))] {
			out[name] = tree(r, depth-1)
		}
		return out
	case kind < 7 && depth > 0:
		out := []any{}
		for range r.IntN(5) {
			out = append(out, tree(r, depth-1))
		}
		return out
	case kind == 7:
		return []any{nil, true, 0, -1.5}[r.IntN(4)]
	}
	words := []string{"", "a", "the a of aa", "<&>", "gone", "| x", "+", "\n", "a\n\n+b\n|c\n", `{"x":1,"y":"` + strings.Repeat("long ", 30) + `","z":2}`, strings.Repeat("wide ", 40), strings.Repeat("a line\n", 20)}
	return words[r.IntN(len(words))]
}
