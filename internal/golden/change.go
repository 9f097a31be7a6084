package golden

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// change is one step from one tree to another.
type change struct {
	// path leads to the place: names of members and indexes of elements.
	path []any
	deed deed
	// value is the new one; of a cut, the new elements or lines.
	value any
	// from and to are the elements or lines that a cut takes away.
	from, to int
}

type deed int

const (
	set deed = iota
	gone
	cut
)

// wide is the length at which a value is written in several lines.
const wide = 110

// written is a value with all that is in it.
func written(path []any, value any) []change {
	children := childrenOf(value)
	if len(children) == 0 || len(encoded(value)) <= wide {
		return []change{{path: path, value: value}}
	}
	var out []change
	for _, c := range children {
		out = append(out, written(with(path, c.key), c.value)...)
	}
	return out
}

type child struct{ key, value any }

// childrenOf are the members or elements of a value in order.
func childrenOf(value any) (out []child) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			out = append(out, child{name, value[name]})
		}
	case []any:
		for i, element := range value {
			out = append(out, child{i, element})
		}
	}
	return out
}

// differences lead from one value to another.
func differences(path []any, from, to any) []change {
	if reflect.DeepEqual(from, to) {
		return nil
	}
	anew := written(path, to)
	if len(anew[0].path) > len(path) {
		anew = append([]change{{path: path, deed: gone}}, anew...)
	}
	if in := within(path, from, to); in != nil && len(lines(in)) < len(lines(anew)) {
		return in
	}
	return anew
}

// within are the differences of the members, elements or lines of two values; none
// where they are not of one kind.
func within(path []any, from, to any) []change {
	switch to := to.(type) {
	case map[string]any:
		if from, ok := from.(map[string]any); ok {
			return ofMembers(path, from, to)
		}
	case []any:
		if from, ok := from.([]any); ok {
			return ofElements(path, from, to)
		}
	case string:
		if from, ok := from.(string); ok && long(from) && long(to) {
			return cuts(path, pieces(from), pieces(to))
		}
	}
	return nil
}

func ofMembers(path []any, from, to map[string]any) []change {
	var out []change
	for _, c := range childrenOf(from) {
		if _, ok := to[c.key.(string)]; !ok {
			out = append(out, change{path: with(path, c.key), deed: gone})
		}
	}
	for _, c := range childrenOf(to) {
		there, ok := from[c.key.(string)]
		if ok {
			out = append(out, differences(with(path, c.key), there, c.value)...)
		} else {
			out = append(out, written(with(path, c.key), c.value)...)
		}
	}
	return out
}

func ofElements(path []any, from, to []any) []change {
	moved := cuts(path, from, to)
	if len(from) != len(to) {
		return moved
	}
	var out []change
	for i := range to {
		out = append(out, differences(with(path, i), from[i], to[i])...)
	}
	if len(lines(moved)) < len(lines(out)) {
		return moved
	}
	return out
}

func with(path []any, key any) []any { return append(slices.Clone(path), key) }

func encoded(value any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		panic(err) // the value was decoded from JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// lines write changes, one of them in one line or more.
func lines(all []change) []string {
	var out []string
	for _, c := range all {
		at := "  " + place(c.path)
		switch text, _ := c.value.(string); {
		case c.deed == gone:
			out = append(out, at+" gone")
		case c.deed == cut:
			out = append(out, fmt.Sprintf("%s %d-%d", at, c.from, c.to))
			out = append(out, c.added()...)
		case long(text):
			out = append(out, at+" text")
			out = append(out, indented(pieces(text))...)
		default:
			out = append(out, at+" = "+encoded(c.value))
		}
	}
	return out
}

func (c change) added() []string {
	if text, ok := c.value.([]string); ok {
		return indented(text)
	}
	var out []string
	for _, element := range c.value.([]any) {
		out = append(out, "    - "+encoded(element))
	}
	return out
}

func indented(text []string) []string {
	out := make([]string, len(text))
	for i, piece := range text {
		out[i] = "    " + piece
	}
	return out
}

// plain is a name that needs no quotes in a path.
var plain = regexp.MustCompile(`^[A-Za-z0-9:/_-]+$`)

// place is a path as it is written: Tags[2].Value.
func place(path []any) string {
	var b strings.Builder
	for _, key := range path {
		switch key := key.(type) {
		case int:
			b.WriteString("[" + strconv.Itoa(key) + "]")
		case string:
			if !plain.MatchString(key) {
				key = encoded(key)
			}
			b.WriteString("." + key)
		}
	}
	if b.Len() == 0 {
		return "."
	}
	return b.String()
}
