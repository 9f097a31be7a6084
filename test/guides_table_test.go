package test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/muster-hpc/muster/internal/sys/golden"
)

// guide is a guide of the table, testdata/guides/table.yaml, which says what its fields are.
type guide struct {
	Guide         int
	Title, Source string
	Steps         []guideStep
}

type guideStep struct {
	At, File, Of, On, Has string
	Types, Until          string
	Gives, Never          []string
	Code                  int
	Needs, Instead        string
	Shows                 []string
	Ends                  int
	Open, Note            string
}

// guides is the table.
func guides(t *testing.T) []guide {
	t.Helper()
	data, err := os.ReadFile("testdata/guides/table.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var all []guide
	in, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithKnownFields())
	if err == nil {
		err = in.Load(&all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestGuides_table: every row is typed, or says what it needs, and no row is there twice.
func TestGuides_table(t *testing.T) {
	for _, g := range guides(t) {
		seen := map[string]bool{}
		for _, s := range g.Steps {
			name := fmt.Sprintf("guide %d, %s", g.Guide, s.At)
			switch {
			case seen[s.At]:
				t.Errorf("%s is there twice", name)
			case s.Needs == "" && (s.Types == "" || s.Gives == nil):
				t.Errorf("%s types nothing, or nothing comes of it, and needs nothing", name)
			case s.Instead != "" && (s.Needs == "" || s.Shows == nil):
				t.Errorf("%s has something in its place, and does not say why, or what comes of it", name)
			}
			seen[s.At] = true
			for _, p := range append(append(append([]string{s.Until}, s.Gives...), s.Never...), s.Shows...) {
				if _, err := regexp.Compile(p); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}

// heredoc is a script that a guide writes with cat.
var heredoc = regexp.MustCompile(`(?ms)^cat > (\S+) << ?'EOF'[^\n]*\n(.*?)^EOF\n`)

// TestGuides_scripts: what the guides have typed is what internal/batch checks, word for word.
func TestGuides_scripts(t *testing.T) {
	checked := map[string]string{
		"test_2nodes.sh": "test-2nodes", "validate_gpu_efa.sh": "validate", "nccl_test_all.sh": "nccl-test-all",
		"test_fsx_performance.sh": "fsx-test", "train-distributed.sbatch": "train-distributed",
	}
	for _, g := range guides(t) {
		for _, s := range g.Steps {
			for _, m := range heredoc.FindAllStringSubmatch(s.Types, -1) {
				want, err := os.ReadFile(filepath.Join("../internal/batch/testdata/guides", checked[m[1]]+".sbatch"))
				if err != nil || strings.TrimSpace(m[2]) != strings.TrimSpace(string(want)) {
					t.Errorf("%s is not what internal/batch has of it (%v):\n%s", m[1], err, m[2])
				}
				delete(checked, m[1])
			}
		}
	}
	if len(checked) > 0 {
		t.Errorf("no guide writes %v", checked)
	}
}

// TestGuidesPage writes docs/guides.md from the table with -update, and compares it otherwise.
func TestGuidesPage(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# What five guides say, on a local cluster

<!-- Written from test/testdata/guides/table.yaml by go test ./test -run GuidesPage -update. -->

Five guides to training on AWS ParallelCluster and Slurm, command by command, on the cluster of the first guide's file with the second one's queue.
A test types each command as it stands there and compares what comes out.

- **as it stands**: typed on the cluster, in ` + "`muster shell` or `muster exec`" + `, and what the guide says comes out.
- **needs**: what one machine has not. Where another command does it, a test holds that one.
- **open**: does not come out yet.
`)
	for _, g := range guides(t) {
		fmt.Fprintf(&b, "\n## %s\n\nFrom %s.\n\n| step | what is typed | here |\n| --- | --- | --- |\n", g.Title, g.Source)
		for _, s := range g.Steps {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", cell(s.At), cell(shortened(s)), cell(s.verdict()))
		}
	}
	golden.Check(t, "../../docs/guides.md", b.String())
}

// verdict is what the page says of a step.
func (s guideStep) verdict() string {
	var parts []string
	switch {
	case s.Open != "":
		parts = append(parts, "**open**: "+s.Open)
	case s.Needs == "" || s.Gives != nil && s.Types != "":
		parts = append(parts, "**as it stands**")
	}
	switch {
	case s.Needs != "" && len(parts) > 0:
		parts = append(parts, "what is behind it **needs** "+s.Needs)
	case s.Needs != "":
		parts = append(parts, "**needs** "+s.Needs)
	}
	if s.Instead != "" {
		parts = append(parts, "instead: "+code(s.Instead))
	}
	if s.Note != "" {
		parts = append(parts, s.Note)
	}
	return strings.Join(parts, "\n")
}

// mostShown is how many lines of a block the page shows.
const mostShown = 4

// shortened is what is typed without comments, and of scripts their name.
func shortened(s guideStep) string {
	text := heredoc.ReplaceAllString(s.Types+"\n", "cat > $1 <<'EOF' …\n")
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	if len(lines) > mostShown {
		lines = append(lines[:mostShown], "…")
	}
	if s.File != "" {
		lines = append([]string{s.File + " …"}, lines...)
	}
	return code(strings.Join(lines, "\n"))
}

func code(text string) string {
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		lines = append(lines, "`"+strings.TrimSpace(line)+"`")
	}
	return strings.Join(lines, "\n")
}

// cell is a text in a table of Markdown.
func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "|", `\|`), "\n", "<br>")
}
