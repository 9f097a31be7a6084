package cause_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/job/cause"
)

// TestPage holds the table of docs/jobs.md to the classes.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	actions := map[cause.Action]string{cause.Elsewhere: "goes on elsewhere", cause.Here: "goes on", cause.Stop: "stops"}
	var want strings.Builder
	for _, r := range cause.Table() {
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s | %s |\n", r.Class, r.Says, r.Signs, r.Blame, actions[r.Action])
	}
	if !strings.Contains(string(page), want.String()) {
		t.Errorf("docs/jobs.md has not the table:\n%s", want.String())
	}
}
