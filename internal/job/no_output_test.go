package job

import (
	"path/filepath"
	"testing"
)

func TestWhyNoOutput(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		filepath.Join(dir, "1.out"):         "there is no file " + dir + "/1.out (is its folder a node's own?)",
		filepath.Join(dir, "logs", "1.out"): "there is no folder " + dir + "/logs for it, and Slurm makes none",
	} {
		if got := whyNoOutput(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
