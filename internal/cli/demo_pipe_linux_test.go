package cli_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestDemo_outlives_its_reader starts a demo whose stderr has no reader: SIGPIPE does not end
// it, and there is nothing left of it.
func TestDemo_outlives_its_reader(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(t.TempDir(), "home")
	if err := os.MkdirAll(filepath.Join(home, "demo", "shared"), 0o755); err != nil { // no demo can make a cluster beside it
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	cmd := exec.CommandContext(t.Context(), self, "demo")
	cmd.Args[0] = "muster" // which the test's program is then
	cmd.Env, cmd.Stderr = append(os.Environ(), "MUSTER_HOME="+home), w
	err = cmd.Run()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 1 {
		t.Errorf("got %v, want exit code 1", err)
	}
	if left, err := filepath.Glob(filepath.Join(home, "*")); len(left) != 1 || err != nil {
		t.Errorf("it left %q, %v", left, err)
	}
}
