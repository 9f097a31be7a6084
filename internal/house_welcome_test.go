package house

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// welcome are the pages that a newcomer reads first. What they name in code, and where their links lead, is there.
var welcome = []string{
	"CONTRIBUTING.md", "SECURITY.md", ".github/pull_request_template.md", ".github/ISSUE_TEMPLATE/*.md", ".github/workflows/*.yml",
}

var (
	spans   = regexp.MustCompile("`([^`\n]+)`")
	links   = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
	files   = regexp.MustCompile(`^[A-Za-z0-9_.*-]+(/[A-Za-z0-9_.*-]+)*/?$`)
	goTests = regexp.MustCompile(`\b(?:Test|Fuzz|Example)[A-Z]\w*`)
	goDirs  = regexp.MustCompile(`(?:^| )\./([\w/]+)`)
	targets = regexp.MustCompile(`(?m)^([a-z-]+) *:.*?(?: ## (.+))?$`)
)

func TestPagesForNewcomersNameWhatIsThere(t *testing.T) {
	tests, made := testNames(load(t)), maps.Collect(makeTargets(t))
	for name, text := range readWelcome(t) {
		for _, link := range links.FindAllStringSubmatch(text, -1) {
			if !isThere(path.Join(path.Dir(name), link[1])) {
				t.Errorf("%s leads to %s, which is not there", name, link[1])
			}
		}
		for _, span := range spans.FindAllStringSubmatch(text, -1) {
			if wrong := complain(span[1], tests, made); wrong != "" {
				t.Errorf("%s names `%s`: %s", name, span[1], wrong)
			}
		}
	}
}

// complain says what of a span in code is not there.
func complain(span string, tests map[string][]string, made map[string]string) string {
	if target, ok := strings.CutPrefix(span, "make "); ok {
		if _, ok := made[target]; !ok {
			return "the Makefile has no such target"
		}
		return ""
	}
	var dirs []string
	for _, dir := range goDirs.FindAllStringSubmatch(span, -1) {
		if dirs = append(dirs, dir[1]); !isThere(dir[1]) {
			return "there is no " + dir[1]
		}
	}
	for _, name := range goTests.FindAllString(span, -1) {
		if at := tests[name]; len(at) == 0 || len(dirs) == 1 && !slices.Contains(at, dirs[0]) {
			return "there is no such test"
		}
	}
	if isPath(span) && !isThere(span) {
		return "there is no such file"
	}
	return ""
}

// isPath tells paths from other code: these have a folder or the ending of a file that people edit.
func isPath(span string) bool {
	ending := slices.Contains([]string{".go", ".md", ".tsv", ".json", ".yaml", ".yml"}, path.Ext(span))
	return files.MatchString(span) && (ending || strings.Contains(span, "/") && !strings.HasPrefix(span, "/"))
}

func isThere(pattern string) bool {
	found, err := filepath.Glob(filepath.Join(top, pattern))
	return err == nil && len(found) > 0
}

func readWelcome(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	for _, pattern := range welcome {
		found, err := filepath.Glob(filepath.Join(top, pattern))
		if err != nil || len(found) == 0 {
			t.Errorf("there is no %s: %v", pattern, err)
		}
		for _, name := range found {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			rel, _ := filepath.Rel(top, name)
			pages[filepath.ToSlash(rel)] = string(text)
		}
	}
	return pages
}

// testNames are the tests, and the folders that have one of that name.
func testNames(h house) map[string][]string {
	at := map[string][]string{}
	for _, p := range h.packages {
		for _, s := range p.sources {
			for _, name := range s.tests() {
				at[name] = append(at[name], p.path)
			}
		}
	}
	return at
}

// makeTargets are the Makefile's targets with what `make help` says of them.
func makeTargets(t *testing.T) func(func(string, string) bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(string, string) bool) {
		for _, m := range targets.FindAllStringSubmatch(string(text), -1) {
			if !yield(m[1], m[2]) {
				return
			}
		}
	}
}

func TestMakeHelpsWithEachTarget(t *testing.T) {
	n := 0
	for target, help := range makeTargets(t) {
		n++
		if help == "" {
			t.Errorf("make help does not say what make %s does", target)
		}
	}
	if n < 10 {
		t.Errorf("the Makefile has %d targets", n)
	}
}

const screens = 90 // lines: what two screens show

// README.md is a page that one reads whole: it has all wings, and the words that only we use.
func TestREADMEIsAMap(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n > screens {
		t.Errorf("README.md has %d lines, more than %d", n, screens)
	}
	_, wings, _ := strings.Cut(string(text), "## Wings")
	wings, _, _ = strings.Cut(wings, "## ")
	for name := range load(t).rows {
		if wing, _, _ := strings.Cut(name, "/"); !slices.Contains(strings.FieldsFunc(wings, func(r rune) bool { return strings.ContainsRune(" \n:,", r) }), wing) {
			t.Errorf("README.md names %s in no wing", wing)
		}
	}
	err = eachRow("Words of our own", "README.md", func(cells []string) {
		word := regexp.MustCompile(`(?i)\b` + cells[0] + `(s|es)?\b`)
		for _, name := range list(cells[1]) {
			if !mentions(t, name, word) {
				t.Errorf("README.md explains the word %q of %s, which does not have it", cells[0], name)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// mentions tells whether a package's sources have a word.
func mentions(t *testing.T, name string, word *regexp.Regexp) bool {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(name, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(found, func(file string) bool {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return !strings.HasSuffix(file, "_test.go") && word.Match(text)
	})
}
