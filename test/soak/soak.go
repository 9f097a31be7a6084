// Package soak separates what every run of the tests proves from what repeats or lasts. `make test` proves each promise once;
// `make soak` sets MUSTER_SOAK=1 and runs the tests whose names begin with TestSoak_: they repeat what may fail only now and then, or take minutes.
package soak

import (
	"os"
	"testing"
)

// Only skips the test unless MUSTER_SOAK is set. why says what makes it long, and where make test proves the same.
func Only(t testing.TB, why string) {
	t.Helper()
	if !soaking() {
		t.Skip("runs in make soak only (MUSTER_SOAK=1): " + why)
	}
}

func soaking() bool { return os.Getenv("MUSTER_SOAK") != "" }
