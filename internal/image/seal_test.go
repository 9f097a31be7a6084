package image

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestSeal: a file that another program wrote is known once it is sealed, wherever a bit
// of it changes afterwards, and its file system is as it was.
func TestSeal(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "saved.sqsh")
	tree := filepath.Join(dir, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(tree, "file"), bytes.Repeat([]byte("muster"), 50_000), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "mksquashfs", tree, path, "-noD", "-quiet").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := Seal(t.Context(), f, "v1"); err != nil {
		t.Fatal(err)
	}
	i, err := Inspect(dir, "saved")
	if err != nil || i.Meta == nil || i.Saved.IsZero() || i.Muster != "v1" {
		t.Fatalf("got %+v, %v", i, err)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(after, before) {
		t.Errorf("the file system differs: %v", err)
	}
	check := func(want Verdict) {
		t.Helper()
		if v, err := Verify(t.Context(), dir, "saved"); err != nil || v.Verdict != want {
			t.Errorf("%s: %q, %v", v.Verdict, v.Problem, err)
		}
	}
	check(Sound)
	size := int64(len(after))
	for _, at := range []int64{100, size / 2, size - 40} {
		b := []byte{after[at] ^ 4}
		if _, err := f.WriteAt(b, at); err != nil {
			t.Fatal(err)
		}
		check(Damaged)
		if _, err := f.WriteAt(after[at:at+1], at); err != nil {
			t.Fatal(err)
		}
	}
	check(Sound)
}

// TestSealNoImage refuses what is no squashfs.
func TestSealNoImage(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := Seal(t.Context(), f, "v1"); err == nil {
		t.Error("an empty file was sealed")
	}
}
