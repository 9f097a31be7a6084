package templates

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program is one of the Python programs that `make python` installs.
func program(t *testing.T, name string) string {
	t.Helper()
	at := os.Getenv("MUSTER_PYTHON")
	if at == "" {
		at = "../../bin/py"
	}
	path := filepath.Join(at, "bin", name)
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("MUSTER_CI") != "" {
			t.Fatal(err)
		}
		t.Skipf("%s is missing: make python", path)
	}
	return path
}

// finding is what cfn-lint says.
type finding struct {
	Filename, Level, Message string
	Rule                     struct{ ID string }
	Location                 struct{ Path []any }
}

// accepted are findings that templates may have: a rule, what its message begins
// with, and why.
var accepted = []struct{ rule, message, reason string }{
	{"W3010", "Avoid hardcoding availability zones", "muster asks AWS which zones have the instance types, and a volume has to be where its machine is"},
	{"E3628", "'p6-b300.48xlarge' is not one of", "cfn-lint's list of instance types is older than the type"},
}

// TestLint shows all templates to cfn-lint, in one process. Its lists of instance
// types are nearly whole for us-east-2 only.
func TestLint(t *testing.T) {
	lint := program(t, "cfn-lint")
	out, err := exec.CommandContext(t.Context(), lint, append([]string{"--regions", "us-east-2", "--format", "json", "--"}, ourFiles(t)...)...).Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	var findings []finding
	if err := json.Unmarshal(out, &findings); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	used := make([]bool, len(accepted))
	for _, f := range findings {
		i := slices.IndexFunc(accepted, func(a struct{ rule, message, reason string }) bool {
			return f.Rule.ID == a.rule && strings.HasPrefix(f.Message, a.message)
		})
		if i >= 0 {
			used[i] = true
			continue
		}
		t.Errorf("%s: %s %s at %v: %s", filepath.Base(f.Filename), f.Level, f.Rule.ID, f.Location.Path, f.Message)
	}
	for i, a := range accepted {
		if !used[i] {
			t.Errorf("no template has a finding %s %q any more", a.rule, a.message)
		}
	}
}
