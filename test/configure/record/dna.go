package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// dnaFiles are the programs that write dna.json, which tells Chef what kind of machine
// it configures and how: each with the machines that it is for, and where it begins.
var dnaFiles = []struct{ name, node, begins string }{
	{"cluster_stack.py", "head", `"cluster": {`}, {"cdk_builder_utils.py", "head", "_dna_json_for_head_node("},
	{"queues_stack.py", "compute", `"cluster": {`}, {"login_nodes_stack.py", "login", `"cluster": {`},
}

var dnaKey = regexp.MustCompile(`"([a-z][a-z0-9_]*)":`)

// dna are the settings that machines are given.
func dna(templates string) ([]item, error) {
	var all []item
	for _, f := range dnaFiles {
		text, err := os.ReadFile(filepath.Join(templates, f.name))
		if err != nil {
			return nil, err
		}
		within := -1 // the indentation at which the keys end
		for raw := range strings.Lines(string(text)) {
			line := strings.TrimRight(raw, "\n")
			indent := len(line) - len(strings.TrimLeft(line, " "))
			switch {
			case strings.Contains(line, f.begins) && (within < 0 || indent <= within):
				within = indent
				continue
			case line == "" || within < 0:
				continue
			case indent <= within:
				within = -1
				continue
			}
			for _, m := range dnaKey.FindAllStringSubmatch(line, -1) {
				all = merge(all, item{place: "dna.json", kind: "setting", name: m[1]}, f.node)
			}
		}
	}
	return all, nil
}
