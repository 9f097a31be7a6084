package batch_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPageListsAllRules holds docs/batch-scripts.md to the codes in the sources,
// and to the severities that their scripts show.
func TestPageListsAllRules(t *testing.T) {
	page, err := os.ReadFile("../../docs/batch-scripts.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\| ([a-z, ]*) \\| .+ \\|$").FindAllStringSubmatch(string(page), -1) {
		if _, twice := listed[row[1]]; twice {
			t.Errorf("%s is listed twice", row[1])
		}
		listed[row[1]] = row[2]
	}
	severity := regexp.MustCompile(`(?m)^[^ ]+: (error|warning|info): `)
	for _, path := range archives(t) {
		code := strings.TrimSuffix(filepath.Base(path), ".txtar")
		severities, ok := listed[code]
		if !ok {
			t.Errorf("docs/batch-scripts.md does not list %s", code)
		}
		delete(listed, code)
		for _, f := range archive(t, path).Files {
			if f.Name != "golden" {
				continue
			}
			for _, m := range severity.FindAllSubmatch(f.Data, -1) {
				if !strings.Contains(severities, string(m[1])) {
					t.Errorf("%s is reported as %s; the page says %q", code, m[1], severities)
					break
				}
			}
		}
	}
	for code := range listed {
		t.Errorf("docs/batch-scripts.md lists %s, which no rule reports", code)
	}
}
