package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const templatesHead = `# What muster makes otherwise than ParallelCluster

<!-- Written by ` + "`go run ./docs/ref/gen`" + ` from test/templates/decided.tsv. -->

muster makes a cluster on AWS from the same cluster file as AWS ParallelCluster, but with CloudFormation templates of its own. A
test holds them against those of ParallelCluster 3.16.1 for %s: everything that one has and the other has not, or has otherwise, is on
this page with its reason. What is not here is the same.

` + "`*` stands for any text, NAME for the cluster's name, `-` for what is not there, `[group]` for a security group that is made with the cluster.\n"

// templatesPage is docs/ref/templates.md.
func templatesPage(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "test", "templates", "decided.tsv"))
	if err != nil {
		return "", err
	}
	recordings, err := filepath.Glob(filepath.Join(root, "test", "templates", "testdata", "parallelcluster", "*.json"))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, templatesHead, fmt.Sprintf("%d cluster files over the range of the schema", len(recordings)))
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if title, ok := strings.CutPrefix(line, "# "); ok {
			fmt.Fprintf(&b, "\n## %s\n\n| what | property | ParallelCluster | muster | why |\n| --- | --- | --- | --- | --- |\n", title)
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != 5 {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", cell(cells[0]), literalCell(cells[1]), literalCell(cells[2]), literalCell(cells[3]), cell(cells[4]))
	}
	return b.String(), nil
}

func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "<", "&lt;").Replace(text)
}

// literalCell is a cell of a template's own words. What is there, or is not, is none.
func literalCell(text string) string {
	switch text {
	case "", "-", "there":
		return text
	}
	return "`" + strings.ReplaceAll(text, "|", `\|`) + "`"
}
