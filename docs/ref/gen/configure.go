package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const configureHead = `# What ParallelCluster does to a machine, and what muster does

<!-- Written by ` + "`go run ./docs/ref/gen`" + ` from test/configure/decided.tsv. -->

An official image is what ParallelCluster's cookbook has installed. When a machine starts, ParallelCluster runs the rest of the cookbook and its user
data; muster runs its own agent instead. This page has all that the cookbook's recipes ` + "`init`, `config` and `finalize`" + ` declare (read at commit f75d84c of
October 2024), the user data of 3.16.1, and what changelogs up to 3.16 say. A test holds each decision against those records,
and against muster's own files.

%d decisions: done %d, not needed %d, left out %d.
`

// verdicts are the words of decided.tsv for people.
var verdicts = map[string]string{"done": "done", "not-needed": "not needed", "left-out": "**left out**"}

// configurePage is docs/ref/configure.md.
func configurePage(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "test", "configure", "decided.tsv"))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	counts, all := map[string]int{}, 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if title, ok := strings.CutPrefix(line, "# "); ok {
			fmt.Fprintf(&b, "\n## %s\n\n| ParallelCluster | in | muster | where | |\n| --- | --- | --- | --- | --- |\n", title)
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != 6 {
			return "", fmt.Errorf("decided.tsv: want six cells: %q", line)
		}
		counts[cells[2]]++
		all++
		where := ""
		if cells[3] != "" {
			where = "`" + cells[3] + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", some(cells[1]), some(cells[0]), verdicts[cells[2]], where, cell(cells[5]))
	}
	return fmt.Sprintf(configureHead, all, counts["done"], counts["not-needed"], counts["left-out"]) + b.String(), nil
}

// some are the first of several things.
func some(list string) string {
	if list == "*" {
		return "the rest"
	}
	all := strings.Split(list, "; ")
	if len(all) > 3 {
		return cell(strings.Join(all[:2], ", ")) + fmt.Sprintf(" and %d more", len(all)-2)
	}
	return cell(strings.Join(all, ", "))
}
