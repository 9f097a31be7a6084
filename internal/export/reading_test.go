package export

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestFileThatCannotBeRead has a disk that fails: that is the file's trouble, not the place's.
func TestFileThatCannotBeRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	r := reading{f, described("f", info), &Track{}}
	longer := r
	longer.want.SizeBytes++
	if n, err := longer.ReadAt(make([]byte, 5), 0); n != 4 || !errors.Is(err, errChanged) {
		t.Errorf("a short file gives %d bytes, %v", n, err)
	}
	if n, err := r.ReadAt(make([]byte, 4), 0); n != 4 || err != nil {
		t.Errorf("got %d bytes, %v", n, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadAt(make([]byte, 4), 0); !ofTheFile(err) || errors.Is(err, errChanged) {
		t.Errorf("reading got %v", err)
	}
	if err := r.same(); !ofTheFile(err) || errors.Is(err, errChanged) {
		t.Errorf("looking got %v", err)
	}
}
