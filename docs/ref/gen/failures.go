package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// failure is a row of failures.tsv: what went wrong with ParallelCluster, and what
// becomes of that with muster.
type failure struct {
	line     int
	title    string // of its section
	happened string
	versions string
	sources  []string
	// state is one of states; does says in a sentence what muster does.
	state, does string
	proofs      []proof
}

// The states of a failure.
const (
	cannot  = "held"
	told    = "told"
	open    = "open"
	nothing = "none"
)

// states are what each means, in the order of the page's head.
var states = []struct{ name, means string }{
	{cannot, "muster does it otherwise, or takes care of it: what shows that is in the last column"},
	{told, "it can happen with muster, too, and muster says so: where, is in the last column"},
	{open, "it can happen with muster, too, and muster does nothing about it yet"},
	{nothing, "what failed is nothing that muster has"},
}

// proof is where one can see that a row is right: a phrase that a file has, or a file or
// a folder's sources have not, or a test.
type proof struct{ kind, place, what string }

const (
	hasPhrase = "has"
	lacks     = "lacks"
	byTest    = "test"
)

// readFailures reads the table: "# " begins a section; other lines have what happened,
// the versions, the sources, the state, what muster does, and where that is seen.
func readFailures(path string) ([]failure, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []failure
	title := ""
	for n, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if name, ok := strings.CutPrefix(line, "# "); ok {
			title = name
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != 6 {
			return nil, fmt.Errorf("%s:%d: want 6 columns, not %d", path, n+1, len(cells))
		}
		f := failure{line: n + 1, title: title, happened: cells[0], versions: cells[1], sources: strings.Fields(cells[2]), state: cells[3], does: cells[4]}
		if f.proofs, err = readProofs(cells[5]); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n+1, err)
		}
		all = append(all, f)
	}
	return all, nil
}

// readProofs reads "KIND PLACE: WHAT" and more of them after " && "; "-" is none.
func readProofs(text string) ([]proof, error) {
	if text == "-" {
		return nil, nil
	}
	var all []proof
	for one := range strings.SplitSeq(text, " && ") {
		where, what, ok := strings.Cut(one, ": ")
		kind, place, named := strings.Cut(where, " ")
		if !ok || !named || kind != hasPhrase && kind != lacks && kind != byTest {
			return nil, fmt.Errorf("want has, lacks or test with a place and what is there, not %q", one)
		}
		all = append(all, proof{kind, place, what})
	}
	return all, nil
}

// holds tells whether the module at root is as a proof says.
func (p proof) holds(root string) (bool, error) {
	where := filepath.Join(root, filepath.FromSlash(p.place))
	switch p.kind {
	case byTest:
		pattern := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(p.what) + `\(t \*testing\.T\)`)
		return anyFile(where, isTest, pattern.Match)
	case lacks:
		found, err := anyFile(where, isSource, func(text []byte) bool { return strings.Contains(string(text), p.what) })
		return !found, err
	}
	text, err := os.ReadFile(where)
	return err == nil && strings.Contains(string(text), p.what), err
}

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }

func isSource(name string) bool { return !isTest(name) && !strings.HasSuffix(name, ".md") }

// anyFile tells whether a file, or one of a folder's own files that count, is as wanted.
func anyFile(where string, counts func(name string) bool, is func(text []byte) bool) (bool, error) {
	files := []string{where}
	entries, err := os.ReadDir(where)
	switch {
	case err == nil:
		files = nil
		for _, e := range entries {
			if !e.IsDir() && counts(e.Name()) {
				files = append(files, filepath.Join(where, e.Name()))
			}
		}
	case errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return false, err
		}
		if is(text) {
			return true, nil
		}
	}
	return false, nil
}

const failuresHead = `# What failed with ParallelCluster, and what becomes of it with muster

<!-- Written by ` + "`go run ./docs/ref/gen`" + ` from docs/ref/failures.tsv. -->

muster reads the same file, boots the same images and calls the same AWS as AWS ParallelCluster: what went wrong there may go wrong here. This page has
what the release notes and the issue tracker of ParallelCluster, of its [cookbook](https://github.com/aws/aws-parallelcluster-cookbook) and of its
[node daemons](https://github.com/aws/aws-parallelcluster-node) say of the last years, as far as it concerns what muster does, in our words. Versions are
ParallelCluster's. A test holds that each place of the last column has what it is named for. Nothing on this page was tried on AWS.

`

// failuresPage is docs/ref/failures.md.
func failuresPage(root string) (string, error) {
	all, err := readFailures(failuresName(root))
	if err != nil {
		return "", err
	}
	counts := map[string]int{}
	for _, f := range all {
		counts[f.state]++
	}
	var b strings.Builder
	b.WriteString(failuresHead)
	fmt.Fprintf(&b, "Of %d failures:\n\n", len(all))
	for _, s := range states {
		fmt.Fprintf(&b, "- **%s** (%d): %s.\n", s.name, counts[s.name], s.means)
	}
	title := ""
	for _, f := range all {
		if f.title != title {
			title = f.title
			fmt.Fprintf(&b, "\n## %s\n\n| what happened | versions | source | | muster | seen in |\n| --- | --- | --- | --- | --- | --- |\n", title)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", cell(f.happened), cell(f.versions), links(f.sources), f.state, cell(f.does), f.seen())
	}
	return b.String(), nil
}

// failuresName is the file with the table.
func failuresName(root string) string { return filepath.Join(root, "docs", "ref", "failures.tsv") }

// sourceForm are addresses of issues, changes and releases at GitHub.
var sourceForm = regexp.MustCompile(`^https://github\.com/aws/([a-z-]+)/(?:issues/|pull/|releases/tag/v)([0-9.]+)$`)

// links are addresses with short names: #6571, node#734, 3.16.0.
func links(sources []string) string {
	var all []string
	for _, s := range sources {
		name := s
		if m := sourceForm.FindStringSubmatch(s); m != nil {
			repository := strings.TrimPrefix(strings.TrimPrefix(m[1], "aws-parallelcluster"), "-")
			name = m[2]
			if !strings.Contains(s, "/releases/") {
				name = repository + "#" + name
			}
		}
		all = append(all, "["+name+"]("+s+")")
	}
	return strings.Join(all, ", ")
}

// seen are the proofs of a row in words.
func (f failure) seen() string {
	var all []string
	for _, p := range f.proofs {
		one := "`" + p.place + "`: `" + p.what + "`"
		switch p.kind {
		case byTest:
			one = "`" + p.what + "` of `" + p.place + "`"
		case lacks:
			one = "no `" + p.what + "` in `" + p.place + "`"
		}
		all = append(all, strings.ReplaceAll(one, "|", `\|`))
	}
	return strings.Join(all, ", ")
}
