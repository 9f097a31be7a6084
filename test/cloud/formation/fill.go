package formation

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// fill sets the fields of an API's request from a template's properties, by their
// names. The renames are from the property's path to the field's name; an empty name
// is a property that is dealt with elsewhere. A property that the request has not is
// an error: nothing of a template is lost silently.
func fill(into any, props map[string]any, renames map[string]string) error {
	return filler{renames}.structure(reflect.ValueOf(into).Elem(), "", props)
}

type filler struct{ renames map[string]string }

func (f filler) structure(v reflect.Value, path string, props map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(props)) {
		at := strings.TrimPrefix(path+"/"+name, "/")
		field := name
		if to, ok := f.renames[at]; ok {
			if to == "" {
				continue
			}
			field = to
		}
		to := v.FieldByNameFunc(func(n string) bool { return strings.EqualFold(n, field) })
		if !to.IsValid() {
			return reason("Encountered unsupported property %s", at)
		}
		if err := f.value(to, at, props[name]); err != nil {
			return err
		}
	}
	return nil
}

func (f filler) value(v reflect.Value, path string, from any) error {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return f.value(v.Elem(), path, from)
	case reflect.Struct:
		props, ok := from.(map[string]any)
		if !ok {
			return wrongType(path, "an object", from)
		}
		return f.structure(v, path, props)
	case reflect.Slice:
		return f.slice(v, path, from)
	case reflect.Map:
		props, ok := from.(map[string]any)
		if !ok {
			return wrongType(path, "an object", from)
		}
		v.Set(reflect.MakeMap(v.Type()))
		for key, e := range props {
			one := reflect.New(v.Type().Elem()).Elem()
			if err := f.value(one, path+"/"+key, e); err != nil {
				return err
			}
			v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), one)
		}
		return nil
	}
	return scalar(v, path, from)
}

func (f filler) slice(v reflect.Value, path string, from any) error {
	all, ok := from.([]any)
	if !ok {
		return wrongType(path, "a list", from)
	}
	v.Set(reflect.MakeSlice(v.Type(), len(all), len(all)))
	for i, e := range all {
		if err := f.value(v.Index(i), path, e); err != nil {
			return err
		}
	}
	return nil
}

func scalar(v reflect.Value, path string, from any) error {
	switch from := from.(type) {
	case map[string]any, []any:
		if v.Kind() == reflect.String && v.Type() == reflect.TypeFor[string]() {
			v.SetString(document(from))
			return nil
		}
		return wrongType(path, "a scalar", from)
	}
	s := text(from)
	var err error
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(s)
		v.SetBool(b)
	case reflect.Int32, reflect.Int64, reflect.Int:
		var n int64
		n, err = strconv.ParseInt(s, 10, 64)
		v.SetInt(n)
	case reflect.Float64, reflect.Float32:
		var n float64
		n, err = strconv.ParseFloat(s, 64)
		v.SetFloat(n)
	default:
		return fmt.Errorf("property %s: no value of type %s can be set", path, v.Type())
	}
	if err != nil {
		return wrongType(path, v.Kind().String(), from)
	}
	return nil
}

func wrongType(path, want string, got any) error {
	return reason("Properties validation failed with message:\n#/%s: expected type: %s, found: %s", path, want, canon(got))
}

// document is a policy or a dashboard as text.
func document(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // values from JSON
	}
	return string(b)
}

// without leaves properties out.
func without(props map[string]any, names ...string) map[string]any {
	out := maps.Clone(props)
	for _, n := range names {
		delete(out, n)
	}
	return out
}

// changed says that a property is otherwise than before.
func (j *job) changed(name string) bool { return canon(j.old[name]) != canon(j.props[name]) }

// tagged is the property with the tags of a resource.
func (j *job) tagged() string {
	switch j.kind {
	case "AWS::EFS::FileSystem":
		return "FileSystemTags"
	case "AWS::Route53::HostedZone":
		return "HostedZoneTags"
	}
	return "Tags"
}

// labels are the tags of a resource: its own above those of the stack.
func (j *job) labels() map[string]string { return labels(j.props[j.tagged()], j.tags) }

func labels(own any, tags map[string]string) map[string]string {
	out := maps.Clone(tags)
	if out == nil {
		out = map[string]string{}
	}
	switch all := own.(type) {
	case []any:
		for _, e := range all {
			t, _ := e.(map[string]any)
			out[text(t["Key"])] = text(t["Value"])
		}
	case map[string]any:
		for k, v := range all {
			out[k] = text(v)
		}
	}
	return out
}

// relabelled are the tags to set and the keys to take away in an update.
func (j *job) relabelled() (set map[string]string, unset []string) {
	before, after := labels(j.old[j.tagged()], j.oldTags), j.labels()
	set = map[string]string{}
	for k, v := range after {
		if before[k] != v || !has(before, k) {
			set[k] = v
		}
	}
	for k := range before {
		if !has(after, k) {
			unset = append(unset, k)
		}
	}
	slices.Sort(unset)
	return set, unset
}

func has(m map[string]string, k string) bool {
	_, ok := m[k]
	return ok
}

// generated is a name as CloudFormation makes them: stack, logical ID and random letters.
func (j *job) generated(most int) string {
	tail := strings.ToUpper(strings.ReplaceAll(uuid(), "-", ""))[:12]
	head := j.stack.name + "-" + j.logical
	return head[:min(len(head), most-len(tail)-1)] + "-" + tail
}
