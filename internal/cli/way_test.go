package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/muster-hpc/muster/internal/place/placetest"
)

// TestNear_of_a_cluster_elsewhere holds that whoever looks at a cluster that cannot be looked
// at from here is told so.
func TestNear_of_a_cluster_elsewhere(t *testing.T) {
	before := slices.Clone(places)
	t.Cleanup(func() { places = before })
	AddPlace(placetest.Moon{})
	home := t.TempDir()
	t.Setenv("MUSTER_HOME", home)
	if err := os.MkdirAll(filepath.Join(home, "moon.d", "far"), 0o700); err != nil {
		t.Fatal(err)
	}
	a := &app{cluster: "far", out: io.Discard, err: io.Discard}
	if n, err := a.near(); n != nil || !errors.Is(err, errFar) {
		t.Errorf("near: %v, %v", n, err)
	}
	if _, err := a.lookAtNodes(t.Context()); !errors.Is(err, errFar) {
		t.Errorf("lookAtNodes: %v", err)
	}
	if _, err := a.slurmHere(); !errors.Is(err, errFar) {
		t.Errorf("slurmHere: %v", err)
	}
	if facts, _, err := a.jobSight(); facts != nil || err != nil {
		t.Errorf("jobSight, where nothing is known: %v, %v", facts, err)
	}
}
