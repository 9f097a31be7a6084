package spec

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"

	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// object is a JSON object. Its keys are written in their order as words.
type object map[string]any

// JSONSchema is the cluster file's schema at a level as a JSON Schema (draft
// 2020-12), for editors. It says what the table says; rules over several keys
// are left to Open, but for those of a choice between keys. AWS ids have their
// form in it, and subnets may be absent.
func JSONSchema(l Level) []byte {
	s := clusterSchema(l)
	root := s.root.jsonMap()
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Cluster file of AWS ParallelCluster " + s.level.String()
	data, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(err)
	}
	return append(data, '\n')
}

// json is the schema of a key's value.
func (f *field) json() object {
	out := f.jsonType()
	if text := f.description(); text != "" {
		out["description"] = text
	}
	if f.Default != "" {
		out["default"] = f.jsonDefault()
	}
	return out
}

func (f *field) jsonType() object {
	switch f.Type {
	case "map":
		return f.jsonMap()
	case "list":
		return object{"type": "array", "items": f.jsonMap()}
	case "dict":
		return object{"type": "object"}
	case "dicts":
		return object{"type": "array", "items": object{"type": "object"}}
	case "strings":
		out := object{"type": "array", "items": f.jsonText()}
		f.constraint.length.limit(out, "Items")
		return out
	case "int":
		return f.jsonInt()
	case "float":
		out := object{"type": []string{"number", "string"}, "pattern": decimal().String()}
		f.constraint.value.limit(out, "")
		return out
	case "bool":
		return object{"type": []string{"boolean", "string"}, "pattern": truthPattern()}
	case "str":
		out := f.jsonText()
		f.constraint.length.limit(out, "Length")
		return out
	default:
		return object{}
	}
}

// limit adds bounds under names such as minLength, or minimum for numbers.
func (b *bounds) limit(out object, of string) {
	if b == nil {
		return
	}
	low, high := "min"+of, "max"+of
	if of == "" {
		low, high = "minimum", "maximum"
	}
	if b.low != nil {
		out[low] = *b.low
	}
	if b.high != nil {
		out[high] = *b.high
	}
}

// jsonInt is a whole number, which may stand in quotes.
func (f *field) jsonInt() object {
	if f.constraint.oneOf != nil {
		values := make([]any, len(f.constraint.oneOf))
		for i, v := range f.constraint.oneOf {
			values[i] = json.Number(v)
		}
		return object{"enum": values}
	}
	out := object{"type": []string{"integer", "string"}, "pattern": `^ *[-+]?[0-9]+(_[0-9]+)* *$`}
	f.constraint.value.limit(out, "")
	return out
}

// jsonText is a text with its values or pattern.
func (f *field) jsonText() object {
	out := object{"type": "string"}
	switch rule := &f.constraint; {
	case rule.oneOf != nil:
		out["enum"] = rule.oneOf
	case rule.pattern != nil:
		out["pattern"] = ecmaPattern(rule.pattern.String())
	case rule.cidr:
		out["pattern"] = networkPattern
	}
	return out
}

// networkPattern is a network or a prefix list's id.
const networkPattern = `^((\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])\.){3}(\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])/(\d|[12]\d|3[0-2])$|^pl-[a-zA-Z0-9]`

var codePoint = pattern.New(`\\x\{([0-9a-fA-F]{4})\}`)

// ecmaPattern writes a pattern of Go so that JavaScript reads it alike: a
// character stands for itself.
func ecmaPattern(pattern string) string {
	return codePoint().ReplaceAllStringFunc(pattern, func(escape string) string {
		n, err := strconv.ParseUint(escape[3:len(escape)-1], 16, 32)
		if err != nil {
			panic(err)
		}
		return string(rune(n))
	})
}

// truthPattern are the words for true and false.
var truthPattern = sync.OnceValue(func() string {
	var words []string
	for _, word := range append(append([]string{}, truthy...), falsy...) {
		words = append(words, word)
		if upper := strings.ToUpper(word); upper != word {
			words = append(words, upper)
		}
		if first := strings.ToUpper(word[:1]) + word[1:]; first != word && len(word) > 1 {
			words = append(words, first)
		}
	}
	return "^(" + strings.Join(words, "|") + ")$"
})

// jsonDefault is the default in its own type.
func (f *field) jsonDefault() any {
	switch f.Type {
	case "int", "float":
		return json.Number(f.Default)
	case "bool":
		return f.Default == "true"
	default:
		return f.Default
	}
}

// description says what the schema's words cannot.
func (f *field) description() string {
	var parts []string
	if f.Default != "" {
		parts = append(parts, "Default: "+f.Default+".")
	}
	if since := f.Since(); since != "" {
		parts = append(parts, "ParallelCluster has it "+since+".")
	}
	if f.Required == "aws" {
		parts = append(parts, "ParallelCluster requires it; muster makes the network where it is absent.")
	}
	changed := "It can be changed " + f.Change() + "."
	if reason, never := strings.CutPrefix(f.Change(), "never"); never {
		changed = "It can never be changed" + reason + "."
	}
	return strings.Join(append(parts, changed), " ")
}

// jsonMap is a map with its keys.
func (f *field) jsonMap() object {
	properties := object{}
	required := []string{}
	for _, name := range f.names {
		child := f.children[name]
		properties[name] = child.json()
		if child.Required == "Y" {
			required = append(required, name)
		}
	}
	out := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	if all := f.jsonChoices(); len(all) > 0 {
		out["allOf"] = all
	}
	return out
}

// jsonChoices are the keys that exclude each other. An empty value counts as
// absent, as it does for Open.
func (f *field) jsonChoices() []any {
	var all []any
	for _, ch := range choices {
		if ch.of != f.name || f.children[ch.keys[0]] == nil {
			continue
		}
		var some []any
		for i, key := range ch.keys {
			some = append(some, object{"required": []string{key}})
			for _, other := range ch.keys[i+1:] {
				if f.children[key] != nil && f.children[other] != nil {
					both := object{"required": []string{key, other}}
					if !ch.empty {
						both["properties"] = object{key: filled(f.children[key]), other: filled(f.children[other])}
					}
					all = append(all, object{"not": both})
				}
			}
		}
		if ch.needed {
			all = append(all, object{"anyOf": some})
		}
	}
	return all
}

// filled is a value that is not empty.
func filled(f *field) object {
	switch f.Type {
	case "str":
		return object{"minLength": 1}
	case "map", "dict":
		return object{"minProperties": 1}
	default:
		return object{"minItems": 1}
	}
}
