package export_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-hpc/muster/internal/store"
	"github.com/muster-hpc/muster/internal/store/storetest"
)

// TestRealServer takes the whole way against the S3 server that a local cluster has: out, changed, deleted, back.
func TestRealServer(t *testing.T) {
	objects, config := storetest.Stand(t)
	config.Bucket = "checkpoints"
	s, err := store.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.MakeBucket(t.Context()); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir, job)
	m := mirror(dir, s)
	finish(t, m)
	wantMirrored(t, dir, s, job)
	if text, err := os.ReadFile(filepath.Join(objects, "checkpoints/fsx1/run/latest")); string(text) != "checkpoint-2\n" {
		t.Errorf("the object's file holds %q, %v", text, err)
	}

	later := maps.Clone(job)
	later["run/latest"] = "checkpoint-4"
	later["run/checkpoint-4/model.bin"] = "weights 4"
	delete(later, "run/checkpoint-1/model.bin")
	if err := os.Remove(filepath.Join(dir, "run/checkpoint-1/model.bin")); err != nil {
		t.Fatal(err)
	}
	write(t, dir, files{"run/latest": "checkpoint-4", "run/checkpoint-4/model.bin": "weights 4"})
	for range 2 {
		finish(t, m)
	}
	wantMirrored(t, dir, s, later)

	fresh := t.TempDir()
	if got := round(t, importer(t, fresh, "fsx1", s)); got.Files != len(lasting(later)) || len(got.Failed) > 0 {
		t.Errorf("%+v came back", got)
	}
	wantMirrored(t, fresh, s, later)
}
