package test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/muster-hpc/muster/internal/place/placetest"
)

// TestPlace tries this machine as a place of clusters, as every place is tried.
func TestPlace(t *testing.T) {
	t.Parallel()
	need(t)
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	home, work := t.TempDir(), t.TempDir()
	placetest.Suite{Place: "local", Other: "aws", File: fileOf(2), Dir: work, Muster: func(args ...string) *exec.Cmd {
		cmd := exec.Command(dir+"/muster", args...)
		cmd.Dir, cmd.Env = work, append(os.Environ(), "MUSTER_HOME="+home, plainPath)
		return cmd
	}}.Run(t)
}
