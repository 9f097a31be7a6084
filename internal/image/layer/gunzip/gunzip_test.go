package gunzip_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/muster-hpc/muster/internal/image/layer/gunzip"
)

func zipped(t testing.TB, level int, members ...[]byte) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, data := range members {
		w, err := gzip.NewWriterLevel(&b, level)
		if err != nil {
			t.Fatal(err)
		}
		w.Name, w.Comment, w.Extra = "name", "comment", []byte("extra")
		w.Write(data)
		w.Close()
	}
	return b.Bytes()
}

// samples are contents that use all of deflate: matches of all distances,
// literals alone, runs, and what does not compress.
func samples() [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	list := [][]byte{nil, []byte("a"), bytes.Repeat([]byte("a"), 1<<20), bytes.Repeat([]byte("abc"), 1<<18)}
	for _, letters := range []int{2, 5, 60, 256} {
		b := make([]byte, 700_000+r.IntN(1000))
		for i := range b {
			b[i] = byte(r.IntN(letters) * r.IntN(2))
		}
		for range 2000 {
			from, n := r.IntN(len(b)), r.IntN(400)
			copy(b[r.IntN(len(b)):], b[from:min(len(b), from+n)])
		}
		list = append(list, b)
	}
	var words strings.Builder
	for words.Len() < 1<<20 {
		words.WriteString([]string{"the ", "of ", "window ", "length\n", "distance, "}[r.IntN(5)])
	}
	return append(list, []byte(words.String()))
}

func TestReads(t *testing.T) {
	for i, data := range samples() {
		for _, level := range []int{gzip.HuffmanOnly, gzip.NoCompression, gzip.BestSpeed, gzip.DefaultCompression, gzip.BestCompression} {
			z := zipped(t, level, data[:len(data)/3], nil, data[len(data)/3:])
			for name, src := range map[string]io.Reader{
				"whole": bytes.NewReader(z), "halves": iotest.HalfReader(bytes.NewReader(z)), "with_end": iotest.DataErrReader(bytes.NewReader(z)),
			} {
				got, err := io.ReadAll(gunzip.NewReader(src))
				if err != nil || !bytes.Equal(got, data) {
					t.Errorf("sample %d, level %d, %s: %d bytes, want %d: %v", i, level, name, len(got), len(data), err)
				}
			}
		}
	}
	got, err := io.ReadAll(gunzip.NewReader(iotest.OneByteReader(bytes.NewReader(zipped(t, 6, samples()[5])))))
	if err != nil || !bytes.Equal(got, samples()[5]) {
		t.Errorf("byte by byte: %d bytes, %v", len(got), err)
	}
}

func TestEveryCutIsFound(t *testing.T) {
	z := zipped(t, 6, []byte(strings.Repeat("some words, ", 30)), samples()[4][:300])
	first := len(zipped(t, 6, []byte(strings.Repeat("some words, ", 30))))
	for n := range len(z) {
		_, err := io.ReadAll(gunzip.NewReader(bytes.NewReader(z[:n])))
		if n == first && err != nil || n != first && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, gunzip.ErrFormat) {
			t.Errorf("%d of %d bytes: %v", n, len(z), err)
		}
	}
}

func TestErrorsOfTheSourceComeThrough(t *testing.T) {
	broken := errors.New("broken")
	z := zipped(t, 6, samples()[6])
	src := io.MultiReader(bytes.NewReader(z[:len(z)/2]), iotest.ErrReader(broken))
	if _, err := io.ReadAll(gunzip.NewReader(src)); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, err := io.ReadAll(gunzip.NewReader(idle{})); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got %v", err)
	}
}

// idle never has anything to read.
type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// compare holds a stream to what compress/gzip makes of it.
func compare(t *testing.T, z []byte) {
	t.Helper()
	const most = 4 << 20
	got, err := io.ReadAll(io.LimitReader(gunzip.NewReader(bytes.NewReader(z)), most))
	var want []byte
	reader, wantErr := gzip.NewReader(bytes.NewReader(z))
	if wantErr == nil {
		want, wantErr = io.ReadAll(io.LimitReader(reader, most))
	}
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("got %v, want %v", err, wantErr)
	}
	if err == nil && !bytes.Equal(got, want) {
		t.Fatalf("got %d bytes, want %d", len(got), len(want))
	}
	if err != nil && !errors.Is(err, gunzip.ErrFormat) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("got %v", err)
	}
}

func TestHeaders(t *testing.T) {
	z := zipped(t, 6, []byte("content"))
	body := z[10+2+5+5+8:] // behind the fields that zipped writes
	plain := append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}, body...)
	with := func(flags byte, fields ...byte) []byte {
		head := append([]byte{0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 255}, fields...)
		if flags&2 != 0 {
			head = binary.LittleEndian.AppendUint16(head, uint16(crc32.ChecksumIEEE(head)))
		}
		return append(head, body...)
	}
	text := func(n int) []byte { return append(bytes.Repeat([]byte("t"), n), 0) }
	wrong := with(2)
	wrong[10]++
	for name, row := range map[string]struct {
		data []byte
		good bool
	}{
		"plain": {plain, true}, "checksum": {with(2), true}, "wrong_checksum": {wrong, false}, "unknown_flags": {with(0xe1), true},
		"name": {with(8, text(511)...), true}, "long_name": {with(8, text(512)...), false}, "all": {with(2|4|8|16, append([]byte{1, 0, 'x'}, append(text(3), text(4)...)...)...), true},
		"method": {[]byte{0x1f, 0x8b, 7, 0, 0, 0, 0, 0, 0, 0}, false}, "twice": {append(bytes.Clone(plain), plain...), true}, "zeros_behind": {append(bytes.Clone(plain), 0, 0), false},
	} {
		compare(t, row.data)
		if _, err := io.ReadAll(gunzip.NewReader(bytes.NewReader(row.data))); (err == nil) != row.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzReader changes streams anywhere, and mends the checksum, which would
// find most changes.
func FuzzReader(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, data := range samples() {
		data = data[:min(len(data), 3000)]
		for _, level := range []int{gzip.HuffmanOnly, gzip.NoCompression, gzip.BestSpeed, gzip.BestCompression} {
			z := zipped(f, level, data)
			f.Add(z)
			f.Add(z[:r.IntN(len(z))])
		}
	}
	f.Add(zipped(f, 6, nil, nil))
	f.Fuzz(compare)
}

// Changed streams decode to the same bytes as with compress/gzip up to the
// place where both find the damage.
func TestChangedStreams(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	list := samples()
	for range 3000 {
		data := list[r.IntN(len(list))]
		data = data[:min(len(data), 1+r.IntN(2000))]
		z := zipped(t, []int{gzip.HuffmanOnly, 1, 6, 9}[r.IntN(4)], data)
		for range 1 + r.IntN(3) {
			z[r.IntN(len(z))] ^= 1 << r.IntN(8)
		}
		compare(t, z)
	}
}
