package expect_test

import (
	"slices"
	"testing"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/internal/verify/expect"
)

// TestChecks holds that all that is expected of any machine can be wished for otherwise: what is refused, nothing reads.
func TestChecks(t *testing.T) {
	known := expect.Checks()
	for _, name := range catalog.Names() {
		for _, role := range []expect.Role{expect.Head, expect.Login, expect.Compute} {
			for _, rehearsal := range []bool{false, true} {
				for _, e := range expect.Expected(expect.Subject{Type: name, Role: role, Rehearsal: rehearsal}).All {
					if !slices.Contains(known, e.Check) {
						t.Errorf("%s: %s is expected, and cannot be wished for", name, e.Check)
					}
				}
			}
		}
	}
}
