package formation_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-hpc/muster/test/cloud/formation"
	"github.com/muster-hpc/muster/test/cloud/remains"
)

// inventory is everything that a stack of ours can make.
func (d *double) inventory() []string {
	d.Helper()
	all, err := remains.Of(d.Context(), d.cloud.Config())
	d.must(err)
	balanced, err := formation.Balanced(d.Context(), d.cloud.Config())
	d.must(err)
	return append(all, balanced...)
}

// leaks are what is there now and was not before, and what is missing.
func leaks(before, after []string) string {
	var out strings.Builder
	for _, x := range after {
		if !slices.Contains(before, x) {
			fmt.Fprintf(&out, "left: %s\n", x)
		}
	}
	for _, x := range before {
		if !slices.Contains(after, x) {
			fmt.Fprintf(&out, "lost: %s\n", x)
		}
	}
	return out.String()
}
