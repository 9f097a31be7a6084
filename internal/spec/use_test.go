package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/diag"
)

// TestKeys_say_what_the_model_uses gives each key two values, and holds that the
// model differs if and only if the table says that it uses the key.
func TestKeys_say_what_the_model_uses(t *testing.T) {
	for _, f := range clusterSchema(Newest).fields {
		a, b := sample(f)
		if a == "" || !f.levels.has(Newest) {
			if f.Use != "" {
				t.Errorf("%s cannot be in use", f.Path)
			}
			continue
		}
		differs := cmp.Diff(modelWith(t, f.Path, a), modelWith(t, f.Path, b)) != ""
		if used := f.Use == "model"; used != differs {
			t.Errorf("%s: the table says %v, and the model differs: %v", f.Path, used, differs)
		}
	}
}

// sample are two values of a key; empty for what has keys of its own.
func sample(f *field) (a, b string) {
	if values := f.constraint.oneOf; len(values) > 1 {
		a, b = values[0], values[1]
	} else {
		a, b = "s3://alpha/a", "s3://beta/b"
	}
	switch f.Type {
	case "bool":
		return "true", "false"
	case "int", "float":
		if f.constraint.oneOf == nil {
			return "3", "4"
		}
		return a, b
	case "str":
		return a, b
	case "strings":
		return "[" + a + "]", "[" + b + "]"
	case "dict":
		return "{A: " + a + "}", "{A: " + b + "}"
	case "dicts":
		return "[{A: " + a + "}]", "[{A: " + b + "}]"
	}
	return "", ""
}

// modelWith is the model of a file that has one key, and the type of storage or the
// script that the key is for.
func modelWith(t *testing.T, path, value string) *Cluster {
	t.Helper()
	text := value
	if strings.HasSuffix(path, ".Args") {
		text += ", Script: s3://bucket/script"
	}
	steps := strings.Split(path, ".")
	for i := len(steps) - 1; i >= 0; i-- {
		name, list := strings.CutSuffix(steps[i], "[]")
		if list && i == 0 && name == "SharedStorage" && len(steps) > 2 {
			text = "{StorageType: " + strings.TrimSuffix(steps[1], "Settings") + ", " + text[1:]
		}
		if list {
			text = "[" + text + "]"
		}
		text = "{" + name + ": " + text + "}"
	}
	d := parse("cluster.yaml", []byte(text), Options{}, &diag.List{})
	if d == nil {
		t.Fatalf("not YAML: %s", text)
	}
	return buildCluster("cluster.yaml", d.view(clusterSchema(Newest)))
}
