package soak_test

import (
	"testing"

	"github.com/muster-hpc/muster/test/soak"
)

func TestSoak(t *testing.T) {
	for _, c := range []struct {
		name, set string
		runs      bool
	}{
		{"make_test", "", false},
		{"make_soak", "1", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("MUSTER_SOAK", c.set)
			runs := false
			t.Run("only", func(t *testing.T) {
				soak.Only(t, "this test looks whether it is skipped")
				runs = true
			})
			if runs != c.runs {
				t.Errorf("Only lets the test run: %v, want %v", runs, c.runs)
			}
		})
	}
}
