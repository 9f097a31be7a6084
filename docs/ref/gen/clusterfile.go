package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/muster-hpc/muster/internal/spec"
)

const clusterHead = `# The cluster file

<!-- Written by ` + "`go run ./docs/ref/gen`" + ` from internal/spec/schema.tsv. -->

A cluster file is an AWS ParallelCluster v3 configuration in YAML. These are the keys
of the schema levels 3.11 to 3.16, %d in all. A file is read by the newest level, or by
the one that it names in a comment line of its own among its first ten lines:

    # muster: schema=3.14

` + "`muster check --schema 3.14`" + ` overrules both.

- *required*: "yes", or "at AWS": ParallelCluster requires the key, and muster makes the
  network where it is absent.
- *takes* is what a value must satisfy beyond its type. What holds for some levels only
  has them behind it.
- *changed* says when a cluster that exists can have another value; for a key that holds
  keys, when the whole can come or go.
- *used*: the cluster's model has it, so that it changes what muster makes and tells. All
  other keys are checked, too.
`

// clusterPage is docs/ref/cluster-file.md.
func clusterPage() string {
	rows := spec.Rows()
	var b strings.Builder
	fmt.Fprintf(&b, clusterHead, len(rows))
	section(&b, rows, "", "The top level")
	for _, k := range rows {
		if k.Type == "map" || k.Type == "list" {
			section(&b, rows, k.Path, "`"+k.Path+"`")
		}
	}
	return b.String()
}

// section writes the keys directly below a path.
func section(b *strings.Builder, rows []spec.Key, path, title string) {
	fmt.Fprintf(b, "\n## %s\n\n| key | type | required | takes | default | changed | levels | used |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n", title)
	for _, k := range rows {
		parent, name := "", k.Path
		if i := strings.LastIndexByte(k.Path, '.'); i >= 0 {
			parent, name = k.Path[:i], k.Path[i+1:]
		}
		if parent == path {
			writeKey(b, k, name)
		}
	}
}

func writeKey(b *strings.Builder, k spec.Key, name string) {
	name = strings.TrimSuffix(name, "[]")
	cell := "`" + name + "`"
	if k.Type == "map" || k.Type == "list" {
		cell = "[`" + name + "`](#" + anchor(k.Path) + ")"
	}
	if k.Type == "gone" {
		fmt.Fprintf(b, "| %s | | | refused: AWS Batch is not supported | | | | |\n", cell)
		return
	}
	used := ""
	if k.Use != "" {
		used = "yes"
	}
	fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n", cell, typeWords[k.Type], requiredWords[k.Required],
		strings.ReplaceAll(k.Takes(), "|", `\|`), k.Defaults(), k.Changes(), k.Since(), used)
}

var typeWords = map[string]string{
	"map": "keys", "list": "list of keys", "str": "text", "int": "whole number", "float": "number", "bool": "true or false",
	"strings": "list of texts", "dict": "free keys", "dicts": "list of free keys", "raw": "anything",
}

var requiredWords = map[string]string{"Y": "yes", "aws": "at AWS", "": ""}

var notInAnchor = regexp.MustCompile(`[^a-z0-9_ -]`)

// anchor is a title's address in a page.
func anchor(title string) string { return notInAnchor.ReplaceAllString(strings.ToLower(title), "") }
