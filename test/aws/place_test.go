package aws

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/muster-hpc/muster/internal/place/placetest"
	"github.com/muster-hpc/muster/test/cloud/remains"
)

// TestPlace tries AWS as a place of clusters, as every place is tried. Nothing may be left.
func TestPlace(t *testing.T) {
	t.Parallel()
	b := newWorld(t)
	keys := filepath.Join(b.user, ".ssh")
	if err := os.Mkdir(keys, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(keys, "id_ed25519")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	placetest.Suite{Place: "aws", Other: "local", File: bootedFile, Dir: b.user, Muster: func(args ...string) *exec.Cmd {
		return b.command(t.Context(), append([]string{"exec", b.double, program(t, "muster")}, args...)...)
	}}.Run(t)
	if left, err := remains.Of(t.Context(), b.aws); err != nil || len(left) > 0 {
		t.Errorf("left is %q, %v", left, err)
	}
}
