package policy_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/job/policy"
)

// TestPageListsAllOptions holds docs/jobs.md to the options.
func TestPageListsAllOptions(t *testing.T) {
	page, err := os.ReadFile("../../../docs/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(--[^`]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		listed = append(listed, strings.ReplaceAll(row[1], `\|`, "|"))
	}
	var want []string
	for _, o := range policy.Options() {
		word := "--" + o.Name
		if o.Value != "" {
			word += "=" + o.Value
		}
		want = append(want, word)
	}
	if got := strings.Join(listed, " "); got != strings.Join(want, " ") {
		t.Errorf("the page lists %s, and the options are %s", got, strings.Join(want, " "))
	}
}
