package layer_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-hpc/muster/internal/image/layer"
)

// flip changes one bit of a file.
func flip(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 4
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}

// TestFlippedBitsAreFound: a bit that changes anywhere in a cached layer comes into no
// image, and the layer is as new after it was built again.
func TestFlippedBitsAreFound(t *testing.T) {
	first, dir := open(t)
	data := tarball(t, file("large", big(1, 20<<20)), file("small", "x"), file("other", "y"))
	digests := build(t, first, data)
	good, _ := assemble(t, first, digests, nil, layer.Options{})
	want, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	segment := filepath.Join(dir, "sha256-"+digests[0][len("sha256:"):]+".segment")
	info, err := os.Stat(segment)
	if err != nil || info.Size() < 17<<20 {
		t.Fatalf("the segment has %d bytes, %v: not enough for this", info.Size(), err)
	}
	for _, at := range []int64{0, 12345, 1<<24 - 1, 1 << 24, info.Size() - 2000, info.Size() - 130} {
		t.Run(fmt.Sprintf("byte_%d", at), func(t *testing.T) {
			c, err := layer.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			flip(t, segment, at)
			out, err := os.Create(filepath.Join(t.TempDir(), "image.sqsh"))
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			if _, err := layer.Assemble(t.Context(), c, digests, nil, layer.Options{}, out); !errors.Is(err, layer.ErrMissing) {
				t.Errorf("got %v", err)
			}
			if has(c, digests[0]) {
				t.Error("it is still there")
			}
			build(t, c, data)
			again, _ := assemble(t, c, digests, nil, layer.Options{})
			if got, err := os.ReadFile(again); err != nil || !bytes.Equal(got, want) {
				t.Errorf("built again it makes another image: %v", err)
			}
		})
	}
}

// TestCachedLayerIsWhatItHasToBe: what is refused when it is read is refused when it is
// there already.
func TestCachedLayerIsWhatItHasToBe(t *testing.T) {
	c, _ := open(t)
	data := tarball(t, file("a", "a"))
	build(t, c, data)
	d := describe(zipped(data))
	d.DiffID = digest(data)
	if found, err := c.Has(d); !found || err != nil {
		t.Errorf("as it is: %v, %v", found, err)
	}
	for want, change := range map[error]func(*layer.Descriptor){
		layer.ErrSize:   func(d *layer.Descriptor) { d.Size++ },
		layer.ErrDiffID: func(d *layer.Descriptor) { d.DiffID = digest([]byte("another")) },
	} {
		other := d
		change(&other)
		if found, err := c.Has(other); found || !errors.Is(err, want) {
			t.Errorf("got %v, %v, want %v", found, err, want)
		}
	}
}
