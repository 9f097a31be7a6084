package export_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/store/storetest"
)

// TestImportComesOnceTheWayIsFree has a directory where a file is to come, a file where a directory is, and a pointer
// to what waits for that. Nothing of it is read in vain, and all comes at the first look after they are gone.
func TestImportComesOnceTheWayIsFree(t *testing.T) {
	fake := &storetest.Fake{}
	place(t, fake, files{"run/step-1": "x", "run/latest": "step-1", "flat/below": "y"})
	dir := t.TempDir()
	write(t, dir, files{"run/step-1/mine": "x", "flat": "a file"})
	c := &counted{Store: fake}
	m := importer(t, dir, "", c)
	start := time.Now()
	for s := range 600 {
		result, err := m.Round(t.Context(), start.Add(time.Duration(s)*time.Second))
		if err != nil || len(result.Import.Failed) != 3 {
			t.Fatalf("after %d s: %+v, %v", s, result.Import, err)
		}
	}
	if n := c.reads("run/step-1") + c.reads("flat/below"); n > 0 || c.reads("run/latest") > 12 {
		t.Errorf("read in vain: %q", c.gets)
	}
	for _, p := range []string{"run/step-1", "flat"} {
		if err := os.RemoveAll(filepath.Join(dir, p)); err != nil {
			t.Fatal(err)
		}
	}
	result, err := m.Round(t.Context(), start.Add(600*time.Second))
	if err != nil || result.Import.Files != 3 || len(result.Import.Failed) > 0 {
		t.Errorf("once the way is free: %+v, %v", result.Import, err)
	}
}
