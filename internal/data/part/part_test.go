package part_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/data/checkpoint"
	"github.com/muster-hpc/muster/internal/data/part"
)

func TestReader(t *testing.T) {
	dir := t.TempDir()
	full := strings.Repeat("0123456789", 10<<10)
	sparse, err := os.Create(filepath.Join(dir, "sparse"))
	small, smallErr := os.Create(filepath.Join(dir, "small"))
	if err := errors.Join(err, smallErr, sparse.Truncate(1<<20), sparse.Close(), small.Truncate(4096), small.Close(), os.Symlink("/dev/zero", filepath.Join(dir, "device")), os.WriteFile(filepath.Join(dir, "full"), []byte(full), 0o600)); err != nil {
		t.Fatal(err)
	}
	r := &part.Reads{Open: os.Open, Left: 8}
	read := r.Reader(func(p string) string { return filepath.Join(dir, p) })
	got, err := read([]checkpoint.Span{{Path: "full", Bytes: 3}, {Path: "full", From: 102398, Bytes: 9}, {Path: "none", Bytes: 9}, {Path: ".", Bytes: 9}, {Path: "sparse", Bytes: 9}, {Path: "small", Bytes: 2}, {Path: "device", Bytes: 9}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]byte{[]byte("012"), []byte("89"), nil, nil, nil, {0, 0}, nil}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, _ = read([]checkpoint.Span{{Path: "full", Bytes: 1}, {Path: "full", Bytes: 1}})
	if diff := cmp.Diff([][]byte{[]byte("0"), nil}, got); diff != "" {
		t.Errorf("of which one may be read (-want +got):\n%s", diff)
	}
}
