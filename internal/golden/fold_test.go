package golden

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write writes a document into a folder as it is kept.
func write(t *testing.T, dir string, f Folded) string {
	t.Helper()
	t.Chdir(filepath.Dir(dir))
	text, err := f.text()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, f.File), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return text
}

func testdata(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "testdata")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFolded_is_what_differs(t *testing.T) {
	dir := testdata(t)
	colour := strings.Repeat("green and ", 12) + "blue"
	write(t, dir, Folded{File: "base.txt", Words: map[string]string{"{name}": "one"}, Body: []byte(`{
		"Title": "about one", "Things": {
			"Car": {"Type": "car", "Wheels": 4, "Colour": "` + colour + `", "Parts": ["engine", "seat", "door"], "Owner": {"Name": "one", "Town": "York"}},
			"Text": "#!/bin/sh\nset -e\necho one\nexit", "Gone": {}}}`)})
	got := write(t, dir, Folded{File: "other.txt", Base: "base.txt", Words: map[string]string{"{name}": "two"}, Body: []byte(`{
		"Title": "about two", "Things": {
			"Car": {"Type": "car", "Wheels": 3, "Colour": "` + colour + `", "Parts": ["engine", "belt", "seat", "door"], "Owner": {"Name": "two"}},
			"Car2": {"Type": "car", "Wheels": 4, "Colour": "` + colour + `", "Parts": ["engine", "seat", "door"], "Owner": {"Name": "two", "Town": "Leeds"}},
			"Text": "#!/bin/sh\nset -e\ncd /\necho two\nexit"}}`)})
	want := `base base.txt
{name} is two
Things.Gone gone

Things.Car like base
  .Owner = {"Name":"{name}"}
  .Parts = ["engine","belt","seat","door"]
  .Wheels = 3

Things.Car2 like base Things.Car
  .Owner = {"Name":"{name}","Town":"Leeds"}

Things.Text like base
  . 2-2
    |cd /
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFolded_loses_nothing(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		dir := testdata(t)
		base := Folded{File: "base.txt", Body: document(r)}
		other := Folded{File: "other.txt", Base: "base.txt", Body: document(r), Words: map[string]string{"{a}": "a"}}
		for _, f := range []Folded{base, other} {
			text := write(t, dir, f)
			got, err := Unfold(dir, f.File)
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			have, _ := decoded(got)
			if want, _ := decoded(f.Body); !reflect.DeepEqual(have, want) {
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
	names := []string{"Type", "a", "b c", "d.e", `f"g`, "Fn::Sub"}
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
	words := []string{"", "a", "the a of aa", "<&>", "gone", "| x", "+", "\n", "a\n\n+b\n|c\n", `{"x":1,"y":"` + strings.Repeat("long ", 30) + `","z":2}`, strings.Repeat("wide ", 40)}
	return words[r.IntN(len(words))]
}

func TestUnfold_says_what_it_cannot_read(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"no_base", "base none.txt\n", "none.txt"},
		{"no_change", "A.b\n  .c is 3\n", `A.b: "  .c is 3" is no change`},
		{"no_JSON", "A.b\n  .c = {\n", "A.b: unexpected EOF"},
		{"no_JSON_in_a_list", "A.b\n  .c 0-0\n    - [\n", "A.b: unexpected EOF"},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := testdata(t)
			if err := os.WriteFile(filepath.Join(dir, "x.txt"), []byte(row.text), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := Unfold(dir, "x.txt"); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}
