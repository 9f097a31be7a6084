package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// definitionOf is an option as slurm_opt.c has it.
func definitionOf(name string, fields ...string) string {
	text := "static slurm_cli_opt_t slurm_opt_" + strings.ReplaceAll(name, "-", "_") + " = {\n\t.name = \"" + name + "\",\n"
	for _, f := range fields {
		text += "\t." + f + ",\n"
	}
	return text + "};\n\n"
}

// source is a file with options and as many others as a version has.
func source(options ...string) []byte {
	for i := range fewestOptions {
		options = append(options, definitionOf(fmt.Sprintf("zz%d", i), "has_arg = no_argument"))
	}
	return []byte(strings.Join(options, ""))
}

func TestTable(t *testing.T) {
	nodes := definitionOf("nodes", "has_arg = required_argument", "val = 'N'", "set_func = arg_set_nodes")
	wait := definitionOf("wait", "has_arg = no_argument", "val = 'W'", "set_func_sbatch = arg_set_wait")
	step := definitionOf("wait", "has_arg = required_argument", "val = 'W'", "set_func_srun = arg_set_wait_srun")
	cluster := definitionOf("clusters", "has_arg = required_argument", "val = 'M'", "set_func = arg_set_clusters") +
		definitionOf("cluster", "has_arg = required_argument", "val = LONG_OPT_CLUSTER", "set_func = arg_set_clusters")
	file := definitionOf("export-file", "has_arg = required_argument", "val = LONG_OPT_EXPORT_FILE", "set_func_sbatch = arg_set_export_file")
	display := "static slurm_cli_opt_t slurm_opt_x11 = {\n#ifdef WITH\n\t.name = \"x11\",\n#else\n\t.name = NULL,\n#endif\n\t.has_arg = optional_argument,\n\t.set_func_srun = arg_set_x11,\n};\n"
	none := definitionOf("alloc", "has_arg = no_argument", "set_func_salloc = arg_set_alloc")
	table := newTable()
	for _, v := range []struct {
		tag  string
		text []byte
	}{
		{"slurm-22-05-8-1", source(nodes, wait, step, cluster, file, display, none)},
		{"slurm-23-11-10-1", source(nodes, wait, step, cluster)},
		{"slurm-24-05-8-1", source(nodes, wait, step, cluster, file, display)},
	} {
		if err := table.add(versionOf(v.tag), v.text); err != nil {
			t.Fatal(err)
		}
	}
	var rows []string
	for line := range strings.Lines(string(table.text())) {
		if !strings.HasPrefix(line, "#") {
			rows = append(rows, strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", " "))
		}
	}
	want := []string{
		"cluster clusters - = 22.05..24.05 22.05..24.05", "clusters - M = 22.05..24.05 22.05..24.05",
		"export-file - - = 22.05..22.05,24.05..24.05 -", "nodes - N = 22.05..24.05 22.05..24.05",
		"wait - W - 22.05..24.05 -", "wait - W = - 22.05..24.05", "x11 - - ? - 22.05..22.05,24.05..24.05",
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTable_refuses(t *testing.T) {
	for name, text := range map[string][]byte{
		"too_few_options":  []byte(definitionOf("nodes", "has_arg = required_argument", "set_func = arg_set_nodes")),
		"unknown_argument": source(definitionOf("nodes", "has_arg = some_argument", "set_func = arg_set_nodes")),
	} {
		if err := newTable().add("22.05", text); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
