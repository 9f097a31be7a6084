package golden

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Folded is a document of JSON that is kept as what makes it different from another
// one, its base, and what makes its parts different from each other: so a change
// of what many have in common is one line. Its parts are the values of the top level,
// and of those that are objects the values in them.
type Folded struct {
	// File is in testdata, and so is Base, which may be empty.
	File, Base string
	// Words are names of this document alone, by what stands for them in the file:
	// {cluster} for the cluster's name.
	Words map[string]string
	Body  []byte
}

// Check compares the document with its file, and what is read back from the file
// with the document: nothing of it is lost.
func (f Folded) Check(t testing.TB) {
	t.Helper()
	got, err := f.text()
	if err != nil {
		t.Fatal(err)
	}
	Check(t, f.File, got)
	want, err := decoded(f.Body)
	if err != nil {
		t.Fatal(err)
	}
	body, err := Unfold("testdata", f.File)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := decoded(body); err != nil || !reflect.DeepEqual(back, want) {
		t.Errorf("%s does not hold the document that it was made of: %v", f.File, err)
	}
}

func (f Folded) text() (string, error) {
	doc, err := decoded(masked(f.Body, f.Words))
	if err != nil {
		return "", err
	}
	base := map[string]any{}
	var out strings.Builder
	if f.Base != "" {
		fmt.Fprintf(&out, "base %s\n", f.Base)
		if base, _, err = read("testdata", f.Base); err != nil {
			return "", err
		}
	}
	for _, word := range slices.Sorted(maps.Keys(f.Words)) {
		fmt.Fprintf(&out, "%s is %s\n", word, f.Words[word])
	}
	for _, line := range fold(base, parts(doc)) {
		fmt.Fprintln(&out, line)
	}
	return out.String(), nil
}

// masked puts words in the place of names.
func masked(body []byte, words map[string]string) []byte {
	for _, word := range slices.Sorted(maps.Keys(words)) {
		name := regexp.MustCompile(`\b` + regexp.QuoteMeta(words[word]) + `\b`)
		body = name.ReplaceAllLiteral(body, []byte(word))
	}
	return body
}

func decoded(body []byte) (out map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return out, d.Decode(&out)
}

// parts are a document's by their names.
func parts(doc map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range doc {
		section, ok := value.(map[string]any)
		if !ok || len(section) == 0 {
			out[key] = value
		}
		for name, part := range section {
			out[key+"."+name] = part
		}
	}
	return out
}

// fold writes the parts that differ from those of the base.
func fold(base, own map[string]any) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(base)) {
		if _, ok := own[name]; !ok {
			out = append(out, name+" gone")
		}
	}
	names := slices.Sorted(maps.Keys(own))
	for i, name := range names {
		if there, ok := base[name]; ok && reflect.DeepEqual(there, own[name]) {
			continue
		}
		out = append(out, "")
		out = append(out, nearest(base, own, names[:i], name)...)
	}
	return out
}

// nearest writes a part in the fewest lines: whole, or as what differs from the base's
// part of its name; or from another of its kind, of the base or an earlier one, if those
// are more alike than not.
func nearest(base, own map[string]any, earlier []string, name string) []string {
	whole := append([]string{name}, lines(written(nil, own[name]))...)
	best := whole
	try := func(like string, other any, most int) {
		got := lines(differences(nil, other, own[name]))
		if len(got)+1 < len(best) && len(got) < most {
			best = append([]string{name + " like " + like}, got...)
		}
	}
	if there, ok := base[name]; ok {
		try("base", there, len(whole))
	}
	kind := kindOf(own[name])
	for _, other := range slices.Sorted(maps.Keys(base)) {
		if kind != "" && kindOf(base[other]) == kind {
			try("base "+other, base[other], len(whole)/2)
		}
	}
	for _, other := range earlier {
		if kind != "" && kindOf(own[other]) == kind {
			try(other, own[other], len(whole)/2)
		}
	}
	return best
}

// kindOf is what a part says of its kind: CloudFormation's Type.
func kindOf(part any) string {
	members, _ := part.(map[string]any)
	kind, _ := members["Type"].(string)
	return kind
}
