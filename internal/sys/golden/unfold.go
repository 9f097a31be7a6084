package golden

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Unfolded is a folder with the documents that Unfold reads in a folder: name.json for name.txt.
func Unfolded(t testing.TB, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no documents: %v", dir, err)
	}
	out := t.TempDir()
	for _, path := range files {
		file := filepath.Base(path)
		body, err := Unfold(dir, file)
		if err == nil {
			err = os.WriteFile(filepath.Join(out, strings.TrimSuffix(file, ".txt")+".json"), body, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// Unfold is the document of a file that says what differs, as JSON. Such a file has lines like these:
//
//	base least.txt             the parts of another file are parts of this one, too
//	{name} is queues           a word, and the name that it stands for
//	Resources.Head like Resources.Node
//	  .Properties.Size = 3     a value of the part Resources.Head that Resources.Node has not
//	  .Properties.Tags.0 gone  a value of Resources.Node that Resources.Head has not
//	Resources.Other gone       a part of the other file that is none of this one
func Unfold(dir, file string) ([]byte, error) {
	r, err := read(dir, file)
	if err != nil {
		return nil, err
	}
	doc := tree{}
	for name, part := range r.parts {
		for path, value := range part {
			doc.put(strings.Split(name+path, "."), json.RawMessage(value))
		}
	}
	body, err := json.MarshalIndent(doc.value(), "", "  ")
	text := string(body)
	for word, name := range r.words {
		text = strings.ReplaceAll(text, word, name)
	}
	return []byte(text), err
}

// reader has read some lines of a file.
type reader struct {
	dir   string
	parts map[string]map[string]string // values as JSON, by part and path
	part  map[string]string            // the last one
	words map[string]string
}

func read(dir, file string) (*reader, error) {
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return nil, err
	}
	r := &reader{dir: dir, parts: map[string]map[string]string{}, part: map[string]string{}, words: map[string]string{}}
	for _, line := range strings.Split(string(text), "\n") {
		if err := r.line(line); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
	}
	return r, nil
}

func (r *reader) line(line string) error {
	if line == "" {
		return nil
	}
	if value, ok := strings.CutPrefix(line, "  "); ok {
		return r.value(value)
	}
	if file, ok := strings.CutPrefix(line, "base "); ok {
		base, err := read(r.dir, file)
		if err == nil {
			r.parts = base.parts
		}
		return err
	}
	if word, name, ok := strings.Cut(line, " is "); ok {
		r.words[word] = name
		return nil
	}
	if name, ok := strings.CutSuffix(line, " gone"); ok {
		delete(r.parts, name)
		return nil
	}
	name, like, _ := strings.Cut(line, " like ")
	r.part = map[string]string{}
	maps.Copy(r.part, r.parts[like])
	r.parts[name] = r.part
	return nil
}

func (r *reader) value(line string) error {
	if path, ok := strings.CutSuffix(line, " gone"); ok {
		delete(r.part, path)
		return nil
	}
	path, value, _ := strings.Cut(line, " = ")
	if !json.Valid([]byte(value)) {
		return fmt.Errorf("%q is no value", line)
	}
	r.part[path] = value
	return nil
}

// tree has the members of an object, the elements of a list by their numbers, or below
// "|" the lines of a text.
type tree map[string]any

func (t tree) put(path []string, value json.RawMessage) {
	if len(path) == 1 {
		t[path[0]] = value
		return
	}
	below, _ := t[path[0]].(tree)
	if below == nil {
		below = tree{}
		t[path[0]] = below
	}
	below.put(path[1:], value)
}

// value is the object, list or text.
func (t tree) value() any {
	for name, member := range t {
		if below, ok := member.(tree); ok {
			t[name] = below.value()
		}
	}
	if lines, ok := t["|"].([]any); ok {
		var text strings.Builder
		for _, line := range lines {
			var plain string
			_ = json.Unmarshal(line.(json.RawMessage), &plain) // it is valid
			text.WriteString(plain)
		}
		return text.String()
	}
	var list []any
	for i := range len(t) {
		element, ok := t[strconv.Itoa(i)]
		if !ok {
			return t
		}
		list = append(list, element)
	}
	return list
}
