package spec_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/golden"
)

// withoutPlaces leaves out where models stand in their file.
var withoutPlaces = cmpopts.IgnoreFields(spec.Model{}, "Place")

// mounts is a cluster with two mounts.
var mounts = &spec.Cluster{File: "cluster.yaml", SharedStorage: []spec.SharedStorage{
	{Name: "data", MountDir: "/data"}, {Name: "logs", MountDir: "/logs"},
}}

const workload = `Models:
  - Name: a
    Nodes: 2
  - Name: b
Directories:
  - Path: /data/sets/
  - Path: /logs/{model}/out
    Mode: "0750"
`

// refusedFile is a muster.yaml with errors.
type refusedFile struct{ name, data string }

// checkRefused holds that files are refused, with the problems that a golden file has.
func checkRefused(t *testing.T, file string, c *spec.Cluster, rows []refusedFile) {
	t.Helper()
	var b strings.Builder
	for _, row := range rows {
		w, problems := spec.ParseWorkload("muster.yaml", []byte(row.data), c)
		if w != nil || !problems.HasErrors() {
			t.Errorf("%s is accepted", row.name)
		}
		b.WriteString("== " + row.name + "\n" + text(t, problems))
	}
	golden.Check(t, file, b.String())
}

func TestParseWorkload(t *testing.T) {
	got, problems := spec.ParseWorkload("muster.yaml", []byte(workload), mounts)
	if problems.Len() != 0 {
		t.Fatal(text(t, problems))
	}
	want := &spec.Workload{
		File: "muster.yaml",
		Run:  spec.Run{RestartMinutes: 15, ReplacementHours: 24},
		Models: []spec.Model{
			{Name: "a", Nodes: 2, Optimizer: "adam", Precision: "bf16", KeepCheckpoints: 3},
			{Name: "b", Optimizer: "adam", Precision: "bf16", KeepCheckpoints: 3},
		},
		Directories: []spec.Directory{
			{Path: "/data/sets", Mode: 0o775}, {Path: "/logs/{model}/out", Mode: 0o750},
		},
	}
	if diff := cmp.Diff(want, got, withoutPlaces); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	expanded := []spec.Directory{
		{Path: "/data/sets", Mode: 0o775}, {Path: "/logs/a/out", Mode: 0o750}, {Path: "/logs/b/out", Mode: 0o750},
	}
	if diff := cmp.Diff(expanded, got.Expanded()); diff != "" {
		t.Errorf("expanded (-want +got):\n%s", diff)
	}
}

func TestParseWorkload_accepts(t *testing.T) {
	for name, data := range map[string]string{
		"empty_lists":    "Models: []\nDirectories: []\n",
		"empty_map":      "{}\n",
		"comments":       "# Models:\n\n  # - Name: a\n",
		"plain_mode":     "Directories: [{Path: /data/x, Mode: 0775}]",
		"three_digits":   "Directories: [{Path: /data/x, Mode: 775}]",
		"set_group_id":   "Directories: [{Path: /data/x, Mode: '2775'}]",
		"mount_itself":   "Directories: [{Path: /data, Mode: '1777'}]",
		"nodes_in_text":  "Models: [{Name: a, Nodes: '3'}]",
		"model_in_name":  "Models: [{Name: a}]\nDirectories: [{Path: '/data/x-{model}/{model}'}]",
		"blanks_in_path": "Directories: [{Path: '/data/a b'}]",
	} {
		if _, problems := spec.ParseWorkload("muster.yaml", []byte(data), mounts); problems.Len() != 0 {
			t.Errorf("%s: %s", name, text(t, problems))
		}
	}
}

func TestParseWorkload_problems(t *testing.T) {
	rows := []refusedFile{
		{"unknown_key", "Model: []\n"},
		{"small_letters", "directories:\n  - path: /data/x\n    mode: '0775'\n"},
		{"no_list", "Models:\n  Name: a\n"},
		{"no_name", "Models:\n  - Nodes: 2\n"},
		{"no_path", "Directories:\n  - Mode: '0775'\n"},
		{"model_twice", "Models: [{Name: a}, {Name: a}]\n"},
		{"model_name_with_a_slash", "Models: [{Name: ../a}]\n"},
		{"no_nodes", "Models: [{Name: a, Nodes: 0}]\n"},
		{"mode_is_no_mode", "Directories: [{Path: /data/a, Mode: rwx}, {Path: /data/b, Mode: 9}, {Path: /data/c, Mode: [1]}, {Path: /data/d, Mode: }, {Path: /data/e, Mode: '77777'}]\n"},
		{"on_no_mount", "Directories: [{Path: /database}]\n"},
		{"relative", "Directories: [{Path: data/x}]\n"},
		{"climbing", "Directories: [{Path: /data/../etc}]\n"},
		{"two_lines", "Directories: [{Path: \"/data/a\\nb\"}]\n"},
		{"empty_path", "Directories: [{Path: ''}]\n"},
		{"unknown_placeholder", "Models: [{Name: a}]\nDirectories: [{Path: '/data/{modle}'}, {Path: '/data/{'}]\n"},
		{"placeholder_without_models", "Directories: [{Path: '/data/{model}'}]\n"},
		{"directory_twice", "Models: [{Name: a}]\nDirectories: [{Path: '/data/{model}'}, {Path: /data/a/}]\n"},
		{"too_many_directories", "Models: [" + numbered("{Name: a%d}, ", 200) + "]\nDirectories: [" + strings.Repeat("{Path: '/data/{model}'}, ", 200) + "]\n"},
		{"too_long_a_path", "Models: [{Name: " + strings.Repeat("a", 64) + "}]\nDirectories: [{Path: '/data/" + strings.Repeat("{model}", 100) + "'}]\n"},
		{"empty", ""},
		{"syntax", "Models: [\n"},
	}
	checkRefused(t, "workload-problems.txt", mounts, rows)
}

func TestLoadWorkload(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "cluster.yaml")
	path := spec.WorkloadPath(file)
	if path != filepath.Join(dir, "muster.yaml") {
		t.Errorf("WorkloadPath = %s", path)
	}
	c := &spec.Cluster{File: file, SharedStorage: mounts.SharedStorage}
	w, problems := spec.LoadWorkload(path, c)
	if diff := cmp.Diff(&spec.Workload{}, w); diff != "" || problems.Len() != 0 {
		t.Errorf("no file (-want +got):\n%s%s", diff, text(t, problems))
	}
	if w, problems := spec.LoadWorkload(filepath.Join(dir, "other.yaml"), c); w != nil || problems.Len() != 1 {
		t.Errorf("a file that was named and is missing: %v, %s", w, text(t, problems))
	}
	if err := os.WriteFile(path, []byte(workload), 0o644); err != nil {
		t.Fatal(err)
	}
	if w, problems := spec.LoadWorkload(path, c); w == nil || len(w.Models) != 2 || w.File != path {
		t.Errorf("%+v, %s", w, text(t, problems))
	}
}

func TestParseWorkload_without_a_cluster(t *testing.T) {
	if _, problems := spec.ParseWorkload("muster.yaml", []byte("Directories: [{Path: /anywhere}]"), nil); problems.Len() != 0 {
		t.Error(text(t, problems))
	}
}
