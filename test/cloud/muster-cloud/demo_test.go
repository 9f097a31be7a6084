package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCommandLinesCanBePasted gives a line that the story shows to a shell, which
// gets the words that the story used.
func TestCommandLinesCanBePasted(t *testing.T) {
	words := []string{"exec", "printf", "%s|", "a  b", "it's", "$HOME", ""}
	var out strings.Builder
	s := story{out: &out}
	s.show(words)
	line, found := strings.CutPrefix(out.String(), "\n$ muster ")
	if !found {
		t.Fatalf("shown: %q", out.String())
	}
	got, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\n' `+line).Output()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(words, strings.Split(strings.TrimSuffix(string(got), "\n"), "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", line, diff)
	}
}
