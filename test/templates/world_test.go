package templates

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/sys/golden"
)

// world is what a cluster file is made into: the resources of all stacks together,
// by an ID. In their properties a reference is a text: ${ID}, ${ID.Attribute},
// ${AWS::Region}.
type world struct {
	// cluster is the cluster's name, file the text of the cluster file.
	cluster, file string
	resources     map[string]resource
}

type resource struct {
	Type, DeletionPolicy, UpdateReplacePolicy string
	Properties                                map[string]any
}

const (
	recordings = "testdata/parallelcluster"
	goldens    = "../../internal/aws/stack/testdata"
)

// theirs is what ParallelCluster was recorded to make.
func theirs(t *testing.T, name, file string) world {
	t.Helper()
	w := world{cluster: recorded, file: file}
	decode(t, filepath.Join(recordings, name+".json"), &w.resources)
	return w
}

// template is a stack as muster writes it.
type template struct {
	Parameters map[string]any
	Resources  map[string]resource
	Outputs    map[string]struct{ Value any }
}

// ourFiles are all templates of the goldens.
func ourFiles(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(golden.Unfolded(t, goldens), "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// ours is what muster makes: its three stacks, where an output of one is the
// parameter of the same name of a later one.
func ours(t *testing.T, name, file string) world {
	t.Helper()
	w := world{cluster: name, file: file, resources: map[string]resource{}}
	outputs := map[string]any{}
	dir := golden.Unfolded(t, goldens)
	for _, stack := range []string{"base", "storage", "cluster"} {
		path := filepath.Join(dir, name+"."+stack+".json")
		if _, err := os.Stat(path); os.IsNotExist(err) && stack == "storage" {
			continue // a cluster without storage of its own
		}
		var have template
		decode(t, path, &have)
		fill := filler{t: t, stack: stack, parameters: map[string]any{}}
		for p := range have.Parameters {
			value, ok := outputs[p]
			if !ok {
				t.Errorf("%s: no earlier stack has an output for the parameter %s", path, p)
			}
			fill.parameters[p] = value
		}
		for id, r := range have.Resources {
			r.Properties, _ = fill.value(r.Properties).(map[string]any)
			w.resources[stack+"/"+id] = r
		}
		for output, o := range have.Outputs {
			outputs[output] = fill.value(o.Value)
		}
	}
	return w
}

func decode(t *testing.T, path string, into any) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	d := json.NewDecoder(file)
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// filler makes texts of CloudFormation's functions.
type filler struct {
	t          *testing.T
	stack      string
	parameters map[string]any
}

// value is a property without functions.
func (f filler) value(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = f.value(v[i])
		}
		return out
	case map[string]any:
		for name, argument := range v {
			if len(v) == 1 && (name == "Ref" || strings.HasPrefix(name, "Fn::")) {
				return f.function(name, argument)
			}
		}
		out := map[string]any{}
		for k := range v {
			out[k] = f.value(v[k])
		}
		return out
	}
	return v
}

var inSub = regexp.MustCompile(`\$\{([^!}][^}]*)\}`)

func (f filler) function(name string, argument any) any {
	list, _ := argument.([]any)
	switch name {
	case "Ref":
		return f.reference(fmt.Sprint(argument))
	case "Fn::GetAtt":
		return f.reference(fmt.Sprint(list[0]) + "." + fmt.Sprint(list[1]))
	case "Fn::Sub":
		return inSub.ReplaceAllStringFunc(fmt.Sprint(argument), func(m string) string {
			return fmt.Sprint(f.reference(m[2 : len(m)-1]))
		})
	case "Fn::Join":
		var parts []string
		texts, _ := list[1].([]any)
		for _, part := range texts {
			parts = append(parts, fmt.Sprint(f.value(part)))
		}
		return strings.Join(parts, fmt.Sprint(list[0]))
	case "Fn::Base64":
		return f.value(argument)
	}
	f.t.Fatalf("%s: what is %s?", f.stack, name)
	return nil
}

func (f filler) reference(name string) any {
	if value, ok := f.parameters[name]; ok {
		return value
	}
	if strings.HasPrefix(name, "AWS::") {
		return "${" + name + "}"
	}
	return "${" + f.stack + "/" + name + "}"
}

var reference = regexp.MustCompile(`^\$\{([^.}]+)(\.[^}]*)?\}$`)

// follow is the ID of the resource that a value refers to, empty if it refers to
// none.
func follow(v any) string {
	if m := reference.FindStringSubmatch(fmt.Sprint(v)); m != nil {
		return m[1]
	}
	return ""
}

// at is the value at a path of maps and lists, such as NetworkInterfaces.0.Groups;
// nil if there is none.
func at(v any, path string) any {
	for _, key := range strings.Split(path, ".") {
		switch parent := v.(type) {
		case map[string]any:
			v = parent[key]
		case []any:
			var i int
			if _, err := fmt.Sscan(key, &i); err != nil || i >= len(parent) {
				return nil
			}
			v = parent[i]
		default:
			return nil
		}
	}
	return v
}

// list is a value that may be one or several.
func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

// tag is the first of several tags that is there.
func tag(tags any, keys ...string) string {
	for _, key := range keys {
		for _, entry := range list(tags) {
			if at(entry, "Key") == key {
				return fmt.Sprint(at(entry, "Value"))
			}
		}
	}
	return ""
}
