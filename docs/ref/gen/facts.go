package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// fact is a row of aws-facts.tsv: what AWS or a machine of its images does, what muster
// does about it, and the tests that fail where it does not.
type fact struct {
	line            int
	title           string // of its section
	happens, answer string
	proofs          []proof
}

// readFacts reads the table: "# " begins a section; other lines have what AWS does, what
// muster does, and where that is seen.
func readFacts(path string) ([]fact, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []fact
	title := ""
	for n, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if name, ok := strings.CutPrefix(line, "# "); ok {
			title = name
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != 3 {
			return nil, fmt.Errorf("%s:%d: want 3 columns, not %d", path, n+1, len(cells))
		}
		f := fact{line: n + 1, title: title, happens: cells[0], answer: cells[1]}
		if f.proofs, err = readProofs(cells[2]); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n+1, err)
		}
		all = append(all, f)
	}
	return all, nil
}

// factsName is the file with the table.
func factsName(root string) string { return filepath.Join(root, "docs", "ref", "aws-facts.tsv") }

const factsHead = `# What AWS does that a double has to be told

<!-- Written by ` + "`go run ./docs/ref/gen`" + ` from docs/ref/aws-facts.tsv. -->

A double of AWS shows what muster does with answers that its authors imagined. This page has what AWS, its images and its kernels do besides, as their
documentation, schemas and sources say, and what muster does about it. The tests of the last column fail without that; a test holds that they are there.
Nothing on this page was tried on AWS: [proof.md](../proof.md) says what only AWS can prove.
`

// factsPage is docs/ref/aws-facts.md.
func factsPage(root string) (string, error) {
	all, err := readFacts(factsName(root))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(factsHead)
	title := ""
	for _, f := range all {
		if f.title != title {
			title = f.title
			fmt.Fprintf(&b, "\n## %s\n\n| AWS | muster | seen in |\n| --- | --- | --- |\n", title)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", cell(f.happens), cell(f.answer), failure{proofs: f.proofs}.seen())
	}
	return b.String(), nil
}
