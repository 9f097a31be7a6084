package golden

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Unfolded is a folder with the documents that the files of Folded in a folder hold:
// name.json for name.txt.
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

// Unfold is the document that a file of Folded holds, as JSON.
func Unfold(dir, file string) ([]byte, error) {
	all, words, err := read(dir, file)
	if err != nil {
		return nil, err
	}
	doc := map[string]any{}
	for name, part := range all {
		section, member, ok := strings.Cut(name, ".")
		if !ok {
			doc[name] = part
			continue
		}
		if doc[section] == nil {
			doc[section] = map[string]any{}
		}
		doc[section].(map[string]any)[member] = part
	}
	body, err := json.MarshalIndent(doc, "", "  ")
	text := string(body)
	for _, word := range slices.Sorted(maps.Keys(words)) {
		text = strings.ReplaceAll(text, word, words[word])
	}
	return []byte(text), err
}

// reader reads a file line by line.
type reader struct {
	base, own map[string]any
	words     map[string]string
	left      []string
}

func read(dir, file string) (own map[string]any, words map[string]string, err error) {
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return nil, nil, err
	}
	r := &reader{own: map[string]any{}, words: map[string]string{}, left: strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")}
	for len(r.left) > 0 {
		line := r.next()
		if base, ok := strings.CutPrefix(line, "base "); ok {
			r.base, _, err = read(dir, base)
			r.own = maps.Clone(r.base)
		} else if word, name, ok := strings.Cut(line, " is "); ok {
			r.words[word] = name
		} else if line != "" {
			err = r.part(line)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", file, err)
		}
	}
	return r.own, r.words, nil
}

func (r *reader) next() string {
	line := r.left[0]
	r.left = r.left[1:]
	return line
}

// part reads one part: its name, and what is in it below.
func (r *reader) part(head string) error {
	name, like, _ := strings.Cut(head, " ")
	if like == "gone" {
		delete(r.own, name)
		return nil
	}
	var value any
	if like == "like base" {
		value = r.base[name]
	} else if other, ok := strings.CutPrefix(like, "like base "); ok {
		value = r.base[other]
	} else if other, ok := strings.CutPrefix(like, "like "); ok {
		value = r.own[other]
	}
	for len(r.left) > 0 && strings.HasPrefix(r.left[0], "  ") {
		c, err := r.change()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		value = c.applied(value, c.path)
	}
	r.own[name] = value
	return nil
}

var (
	line = regexp.MustCompile(`^  ((?:\.(?:[A-Za-z0-9:/_-]+|"(?:[^"\\]|\\.)*")|\[\d+\])+|\.) (?:(gone|text)|(\d+)-(\d+)|= (.*))$`)
	key  = regexp.MustCompile(`\.([A-Za-z0-9:/_-]+)|\.("(?:[^"\\]|\\.)*")|\[(\d+)\]`)
)

// change reads one change with the lines that belong to it.
func (r *reader) change() (c change, err error) {
	text := r.next()
	m := line.FindStringSubmatch(text)
	if m == nil {
		return c, fmt.Errorf("%q is no change", text)
	}
	if c.path, err = pathOf(m[1]); err != nil {
		return c, err
	}
	switch {
	case m[2] == "gone":
		c.deed = gone
	case m[2] == "text":
		c.value = joined(r.pieces())
	case m[3] != "":
		c.deed = cut
		c.from, _ = strconv.Atoi(m[3])
		c.to, _ = strconv.Atoi(m[4])
		err = r.cut(&c)
	default:
		c.value, err = valueOf(m[5])
	}
	return c, err
}

// cut reads the new elements of a list or the new pieces of a text.
func (r *reader) cut(c *change) error {
	if text := r.pieces(); text != nil {
		c.value = text
		return nil
	}
	elements := []any{}
	for len(r.left) > 0 && strings.HasPrefix(r.left[0], "    - ") {
		element, err := valueOf(strings.TrimPrefix(r.next(), "    - "))
		if err != nil {
			return err
		}
		elements = append(elements, element)
	}
	c.value = elements
	return nil
}

func (r *reader) pieces() (out []string) {
	for len(r.left) > 0 && (strings.HasPrefix(r.left[0], "    |") || strings.HasPrefix(r.left[0], "    +")) {
		out = append(out, r.next()[len("    "):])
	}
	return out
}

func valueOf(text string) (out any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return out, d.Decode(&out)
}

func pathOf(text string) (path []any, err error) {
	for _, m := range key.FindAllStringSubmatch(text, -1) {
		switch {
		case m[3] != "":
			i, _ := strconv.Atoi(m[3])
			path = append(path, i)
		case m[2] != "":
			name, err := valueOf(m[2])
			if err != nil {
				return nil, err
			}
			path = append(path, name)
		default:
			path = append(path, m[1])
		}
	}
	return path, nil
}

// applied is a value after the change, which is at a place below it. The value stays
// as it is: others may be like it.
func (c change) applied(value any, path []any) any {
	if len(path) == 0 {
		return c.here(value)
	}
	switch key := path[0].(type) {
	case string:
		members, _ := value.(map[string]any)
		out := maps.Clone(members)
		if out == nil {
			out = map[string]any{}
		}
		if len(path) == 1 && c.deed == gone {
			delete(out, key)
			return out
		}
		out[key] = c.applied(out[key], path[1:])
		return out
	case int:
		elements, _ := value.([]any)
		out := slices.Clone(elements)
		for len(out) <= key {
			out = append(out, nil)
		}
		out[key] = c.applied(out[key], path[1:])
		return out
	}
	return value
}

func (c change) here(value any) any {
	switch {
	case c.deed == gone:
		return nil
	case c.deed == set:
		return c.value
	}
	if text, ok := value.(string); ok {
		added, _ := c.value.([]string)
		return joined(slices.Replace(pieces(text), c.from, c.to, added...))
	}
	elements, _ := value.([]any)
	return slices.Replace(slices.Clone(elements), c.from, c.to, c.value.([]any)...)
}
