package formation

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// scope is what the functions of a template are evaluated in. References and
// attributes of resources come from its functions.
type scope struct {
	t      *template
	params map[string]any // texts, and lists of texts
	pseudo map[string]string
	lookup func(reference) (any, error)
	export func(name string) (string, error)
	zones  func() ([]string, error)
}

// none is AWS::NoValue: the property is left out.
type none struct{}

// value evaluates the functions in a value.
func (s *scope) value(v any) (any, error) {
	switch v := v.(type) {
	case []any:
		out := make([]any, 0, len(v))
		for _, e := range v {
			got, err := s.value(e)
			if err != nil {
				return nil, err
			}
			if _, left := got.(none); !left {
				out = append(out, got)
			}
		}
		return out, nil
	case map[string]any:
		if name, arg, ok := function(v); ok {
			return s.call(name, arg)
		}
		out := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			got, err := s.value(v[key])
			if err != nil {
				return nil, err
			}
			if _, left := got.(none); !left {
				out[key] = got
			}
		}
		return out, nil
	}
	return v, nil
}

// function takes {"Fn::Name": argument} apart.
func function(m map[string]any) (name string, arg any, ok bool) {
	if len(m) != 1 {
		return "", nil, false
	}
	for name, arg = range m {
		if name == "Ref" || name == "Condition" || strings.HasPrefix(name, "Fn::") {
			_, text := arg.(string)
			return name, arg, name != "Condition" || text
		}
	}
	return "", nil, false
}

func (s *scope) call(name string, arg any) (any, error) {
	switch name {
	case "Ref":
		return s.ref(fmt.Sprint(arg))
	case "Fn::GetAtt":
		return s.lookup(attributeOf(arg))
	case "Fn::Sub":
		return s.sub(arg)
	case "Fn::If":
		return s.choose(arg)
	case "Fn::Equals", "Fn::Not", "Fn::And", "Fn::Or", "Condition":
		return s.truth(map[string]any{name: arg})
	}
	got, err := s.value(arg)
	if err != nil {
		return nil, err
	}
	switch name {
	case "Fn::Join":
		return join(got)
	case "Fn::Select":
		return pick(got)
	case "Fn::Split":
		return split(got)
	case "Fn::Base64":
		return base64.StdEncoding.EncodeToString([]byte(text(got))), nil
	case "Fn::Cidr":
		return cidr(got)
	case "Fn::GetAZs":
		zones, err := s.zones()
		return list(zones), err
	case "Fn::FindInMap":
		return s.find(got)
	case "Fn::ImportValue":
		return s.export(text(got))
	}
	return nil, invalid("Template format error: Unrecognized function %s", name) // our words
}

func (s *scope) ref(id string) (any, error) {
	if id == "AWS::NoValue" {
		return none{}, nil
	}
	if v, ok := s.pseudo[id]; ok {
		return v, nil
	}
	if v, ok := s.params[id]; ok {
		return v, nil
	}
	return s.lookup(reference{id: id})
}

func attributeOf(arg any) reference {
	if parts, ok := arg.([]any); ok && len(parts) == 2 {
		return reference{text(parts[0]), text(parts[1])}
	}
	id, attribute, _ := strings.Cut(text(arg), ".")
	return reference{id, attribute}
}

var variable = regexp.MustCompile(`\$\{(!?)([^}]*)\}`)

// template and own variables of a Fn::Sub.
func subParts(arg any) (string, map[string]any) {
	if parts, ok := arg.([]any); ok && len(parts) == 2 {
		own, _ := parts[1].(map[string]any)
		return text(parts[0]), own
	}
	return text(arg), nil
}

func subReference(name string) reference {
	id, attribute, _ := strings.Cut(strings.TrimSpace(name), ".")
	return reference{id, attribute}
}

func (s *scope) sub(arg any) (any, error) {
	format, own := subParts(arg)
	var failed error
	out := variable.ReplaceAllStringFunc(format, func(m string) string {
		parts := variable.FindStringSubmatch(m)
		if parts[1] == "!" {
			return "${" + parts[2] + "}"
		}
		v, err := s.subValue(parts[2], own)
		if err != nil && failed == nil {
			failed = err
		}
		return text(v)
	})
	return out, failed
}

func (s *scope) subValue(name string, own map[string]any) (any, error) {
	if v, ok := own[name]; ok {
		return s.value(v)
	}
	if r := subReference(name); r.attribute != "" {
		return s.lookup(r)
	}
	return s.ref(strings.TrimSpace(name))
}

func (s *scope) choose(arg any) (any, error) {
	parts, ok := arg.([]any)
	if !ok || len(parts) != 3 {
		return nil, invalid("Template error: Fn::If requires a list argument with three elements")
	}
	yes, err := s.condition(text(parts[0]))
	if err != nil {
		return nil, err
	}
	if yes {
		return s.value(parts[1])
	}
	return s.value(parts[2])
}

func (s *scope) condition(name string) (bool, error) {
	c, ok := s.t.Conditions[name]
	if !ok {
		return false, invalid("Template error: unresolved condition dependency %s", name)
	}
	return s.truth(c)
}

func (s *scope) truth(v any) (bool, error) {
	m, _ := v.(map[string]any)
	name, arg, _ := function(m)
	if name == "Condition" {
		return s.condition(text(arg))
	}
	parts, _ := arg.([]any)
	if name == "Fn::Equals" && len(parts) == 2 {
		a, err := s.value(parts[0])
		if err != nil {
			return false, err
		}
		b, err := s.value(parts[1])
		return text(a) == text(b), err
	}
	if !slices.Contains([]string{"Fn::Not", "Fn::And", "Fn::Or"}, name) || len(parts) == 0 {
		return false, invalid("Template format error: Conditions can only be boolean operations on parameters and other conditions") // our words
	}
	all, some := true, false
	for _, p := range parts {
		yes, err := s.truth(p)
		if err != nil {
			return false, err
		}
		all, some = all && yes, some || yes
	}
	return map[string]bool{"Fn::Not": !all, "Fn::And": all, "Fn::Or": some}[name], nil
}

func (s *scope) find(arg any) (any, error) {
	parts, _ := arg.([]any)
	if len(parts) != 3 {
		return nil, invalid("Template error: every Fn::FindInMap object requires three parameters, the map name, map key and the attribute for return value")
	}
	v, ok := s.t.Mappings[text(parts[0])][text(parts[1])][text(parts[2])]
	if !ok {
		return nil, invalid("Template error: Unable to get mapping for %s::%s::%s", parts...)
	}
	return v, nil
}

func join(arg any) (any, error) {
	parts, _ := arg.([]any)
	if len(parts) != 2 {
		return nil, invalid("Template error: every Fn::Join object requires two parameters, (1) a string delimiter and (2) a list of strings to be joined or a function that returns a list of strings (such as Fn::GetAZs) to be joined.")
	}
	return strings.Join(textsOf(parts[1]), text(parts[0])), nil
}

func split(arg any) (any, error) {
	parts, _ := arg.([]any)
	if len(parts) != 2 {
		return nil, invalid("Template error: every Fn::Split object requires two parameters, (1) a string delimiter and (2) a string to be split or a function that returns a string to be split.")
	}
	return list(strings.Split(text(parts[1]), text(parts[0]))), nil
}

func pick(arg any) (any, error) {
	parts, _ := arg.([]any)
	if len(parts) != 2 {
		return nil, invalid("Template error: Fn::Select requires a list argument with two elements: an integer index and a list")
	}
	i, err := strconv.Atoi(text(parts[0]))
	from, ok := parts[1].([]any)
	if err != nil || !ok || i < 0 || i >= len(from) {
		return nil, invalid("Template error: Fn::Select cannot select nonexistent value at index %s", text(parts[0]))
	}
	return from[i], nil
}

// cidr cuts a block: [block, count, bits of the host part].
func cidr(arg any) (any, error) {
	parts, _ := arg.([]any)
	if len(parts) < 2 {
		return nil, invalid("Template error: every Fn::Cidr object requires two parameters") // our words
	}
	block, err := netip.ParsePrefix(text(parts[0]))
	count, err2 := strconv.Atoi(text(parts[1]))
	bits := 8
	var err3 error
	if len(parts) == 3 {
		bits, err3 = strconv.Atoi(text(parts[2]))
	}
	if err != nil || err2 != nil || err3 != nil || !block.Addr().Is4() || bits < 1 || 32-bits < block.Bits() || count > 1<<(32-bits-block.Bits()) {
		return nil, invalid("Template error: Fn::Cidr cannot cut %s into %s blocks", text(parts[0]), text(parts[1])) // our words
	}
	a := block.Masked().Addr().As4()
	at := uint32(a[0])<<24 | uint32(a[1])<<16 | uint32(a[2])<<8 | uint32(a[3])
	var out []any
	for range count {
		out = append(out, fmt.Sprintf("%d.%d.%d.%d/%d", at>>24, at>>16&255, at>>8&255, at&255, 32-bits))
		at += 1 << bits
	}
	return out, nil
}

// text is a scalar as text.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case []any:
		return strings.Join(textsOf(v), ",")
	}
	return fmt.Sprint(v)
}

func textsOf(v any) []string {
	all, ok := v.([]any)
	if !ok {
		return []string{text(v)}
	}
	out := make([]string, len(all))
	for i, e := range all {
		out[i] = text(e)
	}
	return out
}

func list(of []string) []any {
	out := make([]any, len(of))
	for i, s := range of {
		out[i] = s
	}
	return out
}

// references are all Refs and GetAtts in a value, those of both sides of an If.
func references(v any) []reference {
	var out []reference
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			out = append(out, references(e)...)
		}
	case map[string]any:
		name, arg, _ := function(v)
		switch name {
		case "Ref":
			return []reference{{id: text(arg)}}
		case "Fn::GetAtt":
			return []reference{attributeOf(arg)}
		case "Fn::Sub":
			format, own := subParts(arg)
			for _, m := range variable.FindAllStringSubmatch(format, -1) {
				if _, mine := own[m[2]]; m[1] == "" && !mine {
					out = append(out, subReference(m[2]))
				}
			}
			return append(out, references(own)...)
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, references(v[key])...)
		}
	}
	return out
}
