package image_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-hpc/muster/internal/image"
)

// flip changes one bit of a file.
func flip(t *testing.T, path string, at int64) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[at] ^= 4
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func verdict(t *testing.T, dir, name string) image.Verdict {
	t.Helper()
	v, err := image.Verify(t.Context(), dir, name)
	if err != nil || (v.Verdict == image.Sound) != (v.Problem == "") {
		t.Errorf("%s: %q, %v", v.Verdict, v.Problem, err)
	}
	return v.Verdict
}

// TestVerify: wherever a bit of an image changes, it is found, and the image is as new
// after it was imported again.
func TestVerify(t *testing.T) {
	p, dir := newPlace(t), t.TempDir()
	o := options(p.push(t, "v1", linux(t, layer(t, 1, 300_000))), dir)
	done, err := image.Import(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(done.Path)
	if err != nil {
		t.Fatal(err)
	}
	if got := verdict(t, dir, "x"); got != image.Sound {
		t.Errorf("as it came it is %s", got)
	}
	size := done.SizeBytes
	for _, at := range []int64{0, 100, size / 2, size - 1000, size - 40, size - 12} {
		flip(t, done.Path, at)
		if got := verdict(t, dir, "x"); got != image.Damaged {
			t.Errorf("with byte %d of %d changed it is %s", at, size, got)
		}
		flip(t, done.Path, at)
	}
	if err := os.Truncate(done.Path, size/2); err != nil {
		t.Fatal(err)
	}
	if got := verdict(t, dir, "x"); got != image.Damaged {
		t.Errorf("cut off it is %s", got)
	}
	o.Again = true
	if done, err = image.Import(t.Context(), o); err != nil || done.Unchanged {
		t.Errorf("again: %+v, %v", done, err)
	}
	if got, err := os.ReadFile(done.Path); err != nil || !bytes.Equal(got[:size/2], whole[:size/2]) || verdict(t, dir, "x") != image.Sound {
		t.Errorf("imported again it differs: %v", err)
	}
	// Without its end it may be anybody's; one that is not there is none.
	if err := os.WriteFile(filepath.Join(dir, "old.sqsh"), whole[:size-1], 0o644); err != nil {
		t.Fatal(err)
	}
	if got := verdict(t, dir, "old"); got != image.Unknown {
		t.Errorf("another program's is %s", got)
	}
	if _, err := image.Verify(t.Context(), dir, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v, err := image.Verify(ctx, dir, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %+v, %v", v, err)
	}
}

// TestImportFindsDamagedLayer: a cached layer that a disk has changed is fetched again,
// the user is told, and the image is as it would have been.
func TestImportFindsDamagedLayer(t *testing.T) {
	p, dir := newPlace(t), t.TempDir()
	l := layer(t, 1, 300_000)
	o := options(p.push(t, "v1", linux(t, l)), dir)
	if _, err := image.Import(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	h, _ := l.Digest()
	flip(t, filepath.Join(dir, ".layers", "sha256-"+h.Hex+".segment"), 100_000)
	o.Name, o.Progress = "y", &image.Progress{}
	done, err := image.Import(t.Context(), o)
	if err != nil || done.Fetched != 1 {
		t.Errorf("got %+v, %v, want one layer fetched", done, err)
	}
	if told := o.Progress.Look().Notices; len(told) != 1 {
		t.Errorf("told %q", told)
	}
	for _, name := range []string{"x", "y"} {
		if got := verdict(t, dir, name); got != image.Sound {
			t.Errorf("%s is %s", name, got)
		}
	}
}
