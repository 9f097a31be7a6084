package supervise_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/services/supervise"
)

// TestLogs: what is large goes on empty under its writer, and what it had is beside it.
func TestLogs(t *testing.T) {
	dir := t.TempDir()
	path, small, victim := filepath.Join(dir, "a.log"), filepath.Join(dir, "b.log"), filepath.Join(t.TempDir(), "victim")
	writer, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	long := strings.Repeat("x", 100)
	for _, err := range []error{
		os.WriteFile(small, []byte("small"), 0o644), os.WriteFile(victim, []byte(long), 0o644), os.Symlink(victim, filepath.Join(dir, "link.log")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	logs := supervise.Logs{Patterns: []string{filepath.Join(dir, "*.log"), filepath.Join(dir, "none", "*.log")}, Limit: 100}
	for _, text := range []string{"1" + long, "2" + long} {
		if _, err := writer.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := logs.Rotate(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := writer.WriteString("after"); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{path: "after", path + ".1": "2" + long, small: "small", victim: long} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v, want %q", file, got, err, want)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 4 {
		t.Errorf("there are %v, %v", left, err)
	}
}
