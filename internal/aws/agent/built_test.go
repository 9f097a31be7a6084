package agent_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// built is muster, which all boots of this package share. The flags are make build's: what that has compiled is not compiled again.
var built struct {
	sync.Mutex // guards dir
	dir        string
}

// muster returns the path of a build of muster.
func muster(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("MUSTER_PROGRAMS"); dir != "" {
		return filepath.Join(dir, "muster")
	}
	built.Lock()
	defer built.Unlock()
	program := filepath.Join(built.dir, "muster")
	if built.dir != "" {
		return program
	}
	dir, err := os.MkdirTemp("", "muster-agent-")
	if err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(dir, "muster")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags", "-s -w", "-o", program, "../../../cmd/muster")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", errors.Join(err, os.RemoveAll(dir)), out)
	}
	built.dir = dir
	return program
}
