package layer_test

import (
	"bytes"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/muster-hpc/muster/internal/image/layer"
)

// counted counts the bytes that are read.
type counted struct {
	*bytes.Reader
	bytes int64
}

func (c *counted) ReadAt(b []byte, at int64) (int, error) {
	n, err := c.Reader.ReadAt(b, at)
	c.bytes += int64(n)
	return n, err
}

// TestWrittenSums: what is known from when it was written is what reading finds, and is
// not read.
func TestWrittenSums(t *testing.T) {
	c, _ := open(t)
	gap := make([]byte, 200_000)
	rand.NewChaCha8([32]byte{1}).Read(gap)
	lower := tarball(t, file("a", big(1, 20<<20)), file("gone", string(gap)), file("b", big(2, 30<<20)), file("small", "x"), file("other", "y"))
	upper := tarball(t, whiteout("gone"), whiteout("other"), file("c", big(3, 5<<20)))
	path, result := assemble(t, c, build(t, c, lower, upper), nil, layer.Options{})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var want []uint32
	for stretch := range slices.Chunk(data, 16<<20) {
		want = append(want, crc32.Checksum(stretch, crc32.MakeTable(crc32.Castagnoli)))
	}
	for name, known := range map[string]*layer.Written{"known": result.Written, "nothing_known": nil} {
		r := &counted{Reader: bytes.NewReader(data)}
		got, err := layer.Sums(t.Context(), r, int64(len(data)), known)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %x, %v, want %x", name, got, err, want)
		}
		if few := r.bytes < 100_000; few != (known != nil) {
			t.Errorf("%s: %d bytes of %d were read", name, r.bytes, len(data))
		}
	}
}
