package spec_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/spec"
)

func TestParseLevel(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"3.11", "3.11"}, {"3.16", "3.16"}, {"3.14.2", "3.14"}, {"v3.12.0", "3.12"}, {" 3.13 ", "3.13"},
	} {
		got, err := spec.ParseLevel(row.text)
		if err != nil || got.String() != row.want {
			t.Errorf("%q: got %v, %v", row.text, got, err)
		}
	}
	for _, text := range []string{"", "3", "3.", "3.10", "3.17", "2.11", "3.14.x", "3.14.2.1", "3.-14", "newest"} {
		if got, err := spec.ParseLevel(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
	_, err := spec.ParseLevel("3.9")
	if want := `there is no schema level "3.9"; the levels are 3.11 to 3.16`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestLevels(t *testing.T) {
	levels := spec.Levels()
	if len(levels) != 6 || levels[0].String() != "3.11" || levels[5] != spec.Newest {
		t.Errorf("got %v", levels)
	}
	if got := spec.Level(0).String(); got != "3.16" {
		t.Errorf("the zero level is %s", got)
	}
}

// TestPatterns compiles what is otherwise compiled only when a file has the key.
func TestPatterns(t *testing.T) {
	for _, level := range spec.Levels() {
		for _, key := range spec.Keys(level) {
			for term := range strings.FieldsSeq(key.Constraint) {
				word, pattern, _ := strings.Cut(term, ":")
				if word != "re" && word != "id" {
					continue
				}
				if _, err := regexp.Compile(pattern); err != nil {
					t.Errorf("%s at %s: %v", key.Path, level, err)
				}
			}
		}
	}
}
