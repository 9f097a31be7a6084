package services_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/services"
)

// The script says what it was made for, whatever the directories are called, and fails for nothing.
func TestHealthScript(t *testing.T) {
	text := services.HealthScript("--mount", "/a b'$(id)", "--gpus", "8")
	dir := t.TempDir()
	said := filepath.Join(dir, "said")
	program := filepath.Join(dir, "muster")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nprintf '%s|' \"$@\" >"+said+"\nexit 7\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", strings.Replace(text, services.Muster, program, 1))
	cmd.Env = []string{"SLURMD_NODENAME=q-st-b-1"}
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
	got, err := os.ReadFile(said)
	if want := "agent|health|--mount|/a b'$(id)|--gpus|8|q-st-b-1|"; err != nil || string(got) != want {
		t.Errorf("%v: got %q, want %q", err, got, want)
	}
}
