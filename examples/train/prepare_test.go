package train_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// prepare runs prepare.py on a directory and returns what it says.
func prepare(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), python, "-B", "prepare.py", "--data-dir", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("prepare.py: %v\n%s", err, out)
	}
	return string(out)
}

func TestPrepareWritesTextAndChecksum(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "datasets")
	out := prepare(t, dir)
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, filepath.Join(dir, "licenses.txt")))))
	if !strings.Contains(out, "sha256: "+sum) {
		t.Errorf("the text has sha256 %s, prepare.py said %s", sum, out)
	}
	if got, want := read(t, filepath.Join(dir, "licenses.txt.sha256")), sum+"  licenses.txt\n"; got != want {
		t.Errorf("licenses.txt.sha256 holds %q, want %q", got, want)
	}
}

func TestPrepareLeavesAWholeTextAndMendsADamagedOne(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "licenses.txt")
	first := prepare(t, dir)
	before := stat(t, path)
	prepare(t, dir)
	if !os.SameFile(before, stat(t, path)) {
		t.Error("a whole text was written again")
	}
	damage(t, path)
	if again := prepare(t, dir); again != first {
		t.Errorf("after damage: got %q, want %q", again, first)
	}
	if os.SameFile(before, stat(t, path)) {
		t.Error("a damaged text was left in place")
	}
}

func stat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}
