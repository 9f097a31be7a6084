package layer_test

import (
	"os"
	"path/filepath"
	"testing"
)

// GNU tar writes sparse files in four ways; umoci does not know the oldest.
func TestSparseFiles(t *testing.T) {
	need(t, "umoci", "unsquashfs", "squashfuse_ll", "mount", "tar")
	top := t.TempDir()
	sparse(t, filepath.Join(top, "holes"), 3<<20, 100_000, 1_500_000, 3<<20-10)
	other := t.TempDir()
	sparse(t, filepath.Join(other, "huge"), 4<<30+9, 4<<30+5)
	sparse(t, filepath.Join(top, "empty"), 1<<20)
	for name, flags := range map[string][]string{
		"gnu": {"--format=gnu"}, "0.0": {"--format=posix", "--sparse-version=0.0"},
		"0.1": {"--format=posix", "--sparse-version=0.1"}, "1.0": {"--format=posix", "--sparse-version=1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "layer.tar")
			command(t, "tar", append(flags, "--sparse", "-C", top, "-cf", out, "holes", "empty")...)
			data, err := os.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			if name != "gnu" {
				conform(t, data)
				return
			}
			path, _ := image(t, data)
			want := tree(t, top)
			for file, line := range tree(t, unsquash(t, path)) {
				if file != "." && line != want[file] {
					t.Errorf("%s\n got %s\nwant %s", file, line, want[file])
				}
			}
		})
	}
	t.Run("huge", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "layer.tar")
		command(t, "tar", "--format=posix", "--sparse", "-C", other, "-cf", out, "huge")
		data, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		path, r := image(t, data)
		if r.BytesUsed > 1<<20 || r.Uncompressed != 4<<30+9 {
			t.Errorf("a file of holes: %+v", r)
		}
		at := t.TempDir()
		command(t, "mount", "-t", "squashfs", "-o", "loop,ro", path, at)
		defer command(t, "umount", at)
		if end := command(t, "tail", "--bytes=8", filepath.Join(at, "huge")); end != "\x00\x00\x00\x00data" {
			t.Errorf("it ends in %q", end)
		}
	})
}

// sparse makes a file of holes with a few bytes at some places.
func sparse(t *testing.T, path string, size int64, places ...int64) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, at := range places {
		if _, err := f.WriteAt([]byte("data"), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
}
