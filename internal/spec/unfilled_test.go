package spec_test

import (
	"testing"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
)

// TestFinish_hints_at_variables holds that errors at variables without braces say so,
// and no others.
func TestFinish_hints_at_variables(t *testing.T) {
	const hint = "only variables in braces are filled, such as ${NAME}: add the braces, or envsubst < FILE | muster check -"
	for _, row := range []struct {
		name, value string
		want        bool
	}{
		{"braces", "${NUM_INSTANCES}", false},
		{"plain", "$COUNT # how many", true},
		{"quoted", `"$COUNT"`, true},
		{"part_of_a_text", "a${COUNT}", false},
		{"two", "${A}${B}", false},
		{"no_variable", "many", false},
		{"wide_characters_before", "한글", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := spec.OpenText("cluster.yaml", []byte(replace(t, "MaxCount: 4", "MaxCount: "+row.value)), spec.Options{})
			f.Finish()
			errors := 0
			for _, d := range f.Problems.All() {
				if d.Severity != diag.Error {
					continue
				}
				errors++
				if (d.Hint == hint) != row.want {
					t.Errorf("the hint is %q", d.Hint)
				}
			}
			if errors != 1 {
				t.Error(text(t, f.Problems))
			}
		})
	}
}
