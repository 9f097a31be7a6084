package checkpoint_test

import (
	"testing"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
)

// TestPointers says what texts of pointers say of a checkpoint beside them.
func TestPointers(t *testing.T) {
	for _, c := range []struct {
		name, text, dir       string
		names, later, mayName bool
	}{
		{"its_name", "step-5", "run/step-5", true, false, true},
		{"a_path", "/fsx/run/step-5", "run/step-5", true, false, true},
		{"a_later_one", "step-10", "run/step-9", false, true, true},
		{"an_older_one", "step-9", "run/step-10", false, false, true},
		{"its_number", "5", "iter_0000005", true, false, true},
		{"the_number_of_a_later_one", "10", "iter_0000009", false, false, true},
		{"a_number_of_something_else", "10", "step-9", false, false, false},
		{"a_numbered_one", "10", "run/10", true, false, true},
		{"a_later_numbered_one", "1000", "run/999", false, true, true},
		{"a_later_one_with_zeros", "0000001000", "0000000999", false, true, true},
		{"a_number_of_another_form", "1000", "0000000999", false, false, false},
		{"a_word", "final", "step-9", false, false, false},
		{"one_without_a_step", "b-run", "b-run", true, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			names, later, mayName := checkpoint.Names(c.text, c.dir), checkpoint.NamesLater(c.text, c.dir), checkpoint.MayName(c.text, c.dir)
			if names != c.names || later != c.later || mayName != c.mayName {
				t.Errorf("names %v, later %v, may name %v", names, later, mayName)
			}
		})
	}
}
