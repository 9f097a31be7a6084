package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// A head node on this machine sees the working directory alone, wherever links lead.
func TestSeenByHead(t *testing.T) {
	root := t.TempDir()
	here := filepath.Join(root, "here")
	if err := os.MkdirAll(filepath.Join(here, "there"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"out": root, "in": "there"} {
		if err := os.Symlink(to, filepath.Join(here, link)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(here)
	for path, seen := range map[string]bool{
		"": true, "acceptance": true, "there/new/er": true, filepath.Join(here, "a"): true, "in/a": true, ".": true,
		"../a": false, "/tmp/a": false, "out/a": false, filepath.Join(root, "here2"): false,
	} {
		if err := seenByHead("--report", path); (err == nil) != seen {
			t.Errorf("%q: %v", path, err)
		}
	}
}
