package data

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// What is written past the cache and what goes through it make one file, wherever a write lies in memory and in the file.
func TestUncached(t *testing.T) {
	const size = 1<<20 + 777
	want, got := make([]byte, size), make([]byte, size)
	for _, partBytes := range []int64{64 << 10, 100_000} {
		f, err := os.Create(filepath.Join(t.TempDir(), "f"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		clear(want)
		to := pastCache(f, partBytes)
		defer to.close()
		memory := make([]byte, 256<<10)
		for i := range byte(200) {
			at := rand.N(int64(size - 1))
			from := rand.N(len(memory))
			if i%2 == 0 {
				at, from = at&^(diskBytes-1), from&^(diskBytes-1)
			}
			b := memory[from:][:min(int64(len(memory)-from), rand.N(size-at)+1)]
			for j := range b {
				b[j] = i + byte(j)
			}
			copy(want[at:], b)
			if n, err := to.WriteAt(b, at); n != len(b) || err != nil {
				t.Fatalf("%d of %d bytes at %d, %v", n, len(b), at, err)
			}
			clear(got)
			if _, err := f.ReadAt(got, 0); !bytes.Equal(got, want) {
				t.Fatalf("%d bytes at %d came out as others, %v", len(b), at, err)
			}
		}
	}
}
