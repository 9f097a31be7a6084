package gunzip_test

import (
	"bytes"
	"compress/flate"
	stdlib "compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	library "github.com/klauspost/compress/gzip"

	"github.com/muster-hpc/muster/internal/image/gunzip"
)

// compressed is one member.
func compressed(t testing.TB, level int, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := stdlib.NewWriterLevel(&b, level)
	if err == nil {
		_, err = w.Write(text)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// texts are of all kinds: empty, short, all the same, random, words far and near.
func texts() map[string][]byte {
	random := rand.NewChaCha8([32]byte{})
	noise := make([]byte, 300_000)
	random.Read(noise)
	dice := rand.New(random)
	var words, far bytes.Buffer
	for words.Len() < 1_000_000 {
		words.WriteString(strings.Repeat(string(rune('a'+dice.IntN(26))), 1+dice.IntN(9)) + " ")
	}
	for range 20 {
		far.Write(noise[:32<<10]) // the farthest that a repetition reaches
	}
	skewed := make([]byte, 400_000) // some codes are long
	for i := range skewed {
		skewed[i] = byte(dice.ExpFloat64() * 12)
	}
	periods := []byte{}
	for n := range 20 {
		periods = append(periods, bytes.Repeat(noise[:n+1], 3000/(n+1))...)
	}
	return map[string][]byte{
		"empty": nil, "one_byte": {7}, "zeros": make([]byte, 700_000), "noise": noise, "words": words.Bytes(),
		"far": far.Bytes(), "skewed": skewed, "periods": periods,
	}
}

func read(r io.Reader) ([]byte, error) {
	z, err := gunzip.NewReader(r)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func TestReadsWhatGzipWrites(t *testing.T) {
	for name, text := range texts() {
		t.Run(name, func(t *testing.T) {
			for _, level := range []int{flate.HuffmanOnly, flate.NoCompression, 1, 6, 9} {
				z := compressed(t, level, text)
				for how, r := range map[string]io.Reader{
					"whole": bytes.NewReader(z), "halves": iotest.HalfReader(bytes.NewReader(z)), "with_its_end": iotest.DataErrReader(bytes.NewReader(z)),
				} {
					if got, err := read(r); err != nil || !bytes.Equal(got, text) {
						t.Errorf("level %d, %s: %d bytes of %d, %v", level, how, len(got), len(text), err)
					}
				}
			}
		})
	}
}

// TestMembers: parallel and lazy-loading compressors write several.
func TestMembers(t *testing.T) {
	var all, want []byte
	for _, text := range texts() {
		all, want = append(all, compressed(t, 6, text)...), append(want, text...)
	}
	if got, err := read(iotest.OneByteReader(bytes.NewReader(all))); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}
}

// fields is a member whose header has all that it may have.
func fields(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w := stdlib.NewWriter(&b)
	w.Name, w.Comment, w.Extra = "name", "comment", []byte("extra")
	_, err := w.Write([]byte("text"))
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestDamage: whatever is cut off or flipped, we say what the libraries say.
func TestDamage(t *testing.T) {
	words := texts()["words"][:3000]
	for name, z := range map[string][]byte{"fields": fields(t), "words": compressed(t, 6, words), "fixed": compressed(t, 6, []byte("abcabc")), "stored": compressed(t, 0, words)} {
		t.Run(name, func(t *testing.T) {
			for n := range z {
				same(t, z[:n])
				for bit := range 8 {
					bad := bytes.Clone(z)
					bad[n] ^= 1 << bit
					same(t, bad)
				}
			}
			same(t, append(bytes.Clone(z), 0))
			same(t, append(bytes.Clone(z), z[:20]...))
		})
	}
}

// same compares what is said of an input with what the libraries say of it. Where they
// differ (one takes flags that RFC 1952 has us refuse; the other some codes that are none,
// and an end within a later header), we are as strict as the stricter one.
func same(t *testing.T, z []byte) {
	t.Helper()
	var one, other []byte
	oneR, oneErr := library.NewReader(bytes.NewReader(z))
	if oneErr == nil {
		one, oneErr = io.ReadAll(oneR)
	}
	otherR, otherErr := stdlib.NewReader(bytes.NewReader(z))
	if otherErr == nil {
		other, otherErr = io.ReadAll(otherR)
	}
	got, err := read(bytes.NewReader(z))
	if err == nil && (oneErr != nil || otherErr != nil || !bytes.Equal(got, one) || !bytes.Equal(got, other)) {
		t.Fatalf("%.200x: %d bytes; the libraries have %d, %v, and %d, %v", z, len(got), len(one), oneErr, len(other), otherErr)
	}
	if err != nil && oneErr == nil && otherErr == nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("%.200x: %v; the libraries have %d and %d bytes", z, err, len(one), len(other))
	}
	if errors.Is(oneErr, stdlib.ErrChecksum) && errors.Is(otherErr, stdlib.ErrChecksum) != errors.Is(err, gunzip.ErrChecksum) {
		t.Fatalf("%.200x: %v; the libraries have %v and %v", z, err, oneErr, otherErr)
	}
}

// TestErrorOfTheInput: it is handed on, whenever it comes.
func TestErrorOfTheInput(t *testing.T) {
	broken := errors.New("broken")
	z := compressed(t, 6, texts()["words"])
	for _, n := range []int{0, 5, 40, len(z) / 2, len(z) - 3, len(z)} {
		_, err := read(io.MultiReader(bytes.NewReader(z[:n]), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}

// FuzzReader: any input gives what the libraries give. What is compressed is given
// without header and trailer, too, which chance would not find.
func FuzzReader(f *testing.F) {
	for _, text := range texts() {
		text = text[:min(len(text), 2000)]
		for _, level := range []int{flate.HuffmanOnly, flate.NoCompression, 1, 9} {
			f.Add(compressed(f, level, text))
		}
	}
	f.Add(fields(f))
	f.Fuzz(func(t *testing.T, z []byte) {
		same(t, z)
		same(t, append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0}, z...))
		got, err := read(bytes.NewReader(append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0}, z...)))
		want, wantErr := io.ReadAll(flate.NewReader(bytes.NewReader(z)))
		if wantErr == nil && (!bytes.HasPrefix(got, want) || errors.Is(err, gunzip.ErrData)) {
			t.Fatalf("%.200x: %d bytes, %v; compress/flate has %d bytes", z, len(got), err, len(want))
		}
	})
}

func BenchmarkReader(b *testing.B) {
	text := texts()["words"]
	z := compressed(b, 6, text)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := read(bytes.NewReader(z)); err != nil {
			b.Fatal(err)
		}
	}
}
