package cli

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/slurm"
)

func TestUsualOutput(t *testing.T) {
	dir, began := t.TempDir(), time.Now().Add(-time.Hour)
	file := filepath.Join(dir, "slurm-9_3.out")
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	j := slurm.Job{ID: 12, ArrayJobID: 9, ArrayTask: "3", WorkDir: dir, StartTime: began, State: "COMPLETED"}
	if got := usualOutput(j); got != file {
		t.Errorf("got %q, want %q", got, file)
	}
	before := began.Add(-time.Hour)
	if err := os.Chtimes(file, before, before); err != nil {
		t.Fatal(err)
	}
	if got := usualOutput(j); got != "" {
		t.Errorf("a file of another job's time: %q", got)
	}
	if got := usualOutput(slurm.Job{ID: 13, WorkDir: dir, StartTime: began}); got != "" {
		t.Errorf("a file that is not there: %q", got)
	}
}
