package ref_test

import (
	"os"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/docs/ref"
)

func TestAbout(t *testing.T) {
	page, err := os.ReadFile("codes.md")
	if err != nil {
		t.Fatal(err)
	}
	about := ref.About()
	for line := range strings.Lines(string(page)) {
		cell, ok := strings.CutPrefix(line, "| `")
		if !ok {
			continue
		}
		code, _, _ := strings.Cut(cell, "`")
		if about[code] == "" || strings.ContainsAny(about[code], "|<") {
			t.Errorf("%s is for %q", code, about[code])
		}
	}
	if len(about) < 10 || about["schema/unknown"] == "" {
		t.Errorf("%d codes, among them %q", len(about), about["schema/unknown"])
	}
}
