package layer

import (
	"cmp"
	"context"
	"hash/crc32"
	"io"
	"slices"
	"sync"
)

// Written knows the checksums of parts of a file from when they were written, so that
// they need not be read again: of a new image that would be all of it. Nothing may write
// there later. Its zero value, and nil, know nothing.
type Written struct {
	// mu guards what follows.
	mu    sync.Mutex
	parts []summed
}

// summed is a part of a file that lies in one stretch.
type summed struct {
	at, size int64
	sum      uint32
}

func (p summed) end() int64 { return p.at + p.size }

// add takes over what one writer has written.
func (w *Written) add(parts []summed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parts = append(w.parts, parts...)
}

// sorted is what is known, from the file's beginning on.
func (w *Written) sorted() []summed {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortFunc(w.parts, func(a, b summed) int { return cmp.Compare(a.at, b.at) })
	return w.parts
}

// writing is what one writer writes, mostly in a row.
type writing []summed

// wrote notes bytes that went to a place.
func (w *writing) wrote(b []byte, at int64) {
	for len(b) > 0 {
		n := min(int64(len(b)), sumStretch-at%sumStretch)
		if last := len(*w) - 1; last < 0 || (*w)[last].end() != at || at%sumStretch == 0 {
			*w = append(*w, summed{at: at})
		}
		p := &(*w)[len(*w)-1]
		p.sum = crc32.Update(p.sum, castagnoli(), b[:n])
		p.size += n
		b, at = b[n:], at+n
	}
}

// Sums are the checksums of a file's first bytes, one for each stretch. Unknown ones are
// computed, by all CPUs.
func Sums(ctx context.Context, r io.ReaderAt, size int64, known *Written) ([]uint32, error) {
	parts := known.sorted()
	found := make([]uint32, sumCount(size))
	err := eachOf(ctx, len(found), func(i int, buf []byte) (err error) {
		from := int64(i) * sumStretch
		first, _ := slices.BinarySearchFunc(parts, from, func(p summed, at int64) int { return cmp.Compare(p.at, at) })
		found[i], err = sumOf(r, from, min(from+sumStretch, size), parts[first:], buf)
		return err
	})
	return found, err
}

// sumOf is the checksum of a stretch, of which the first of parts are known.
func sumOf(r io.ReaderAt, from, end int64, parts []summed, buf []byte) (sum uint32, err error) {
	for from < end {
		p := summed{at: end}
		if len(parts) > 0 && parts[0].end() <= end {
			p, parts = parts[0], parts[1:]
		}
		read, err := readStretch(r, from, p.at-from, buf, func(int64, []byte) error { return nil })
		if err != nil {
			return 0, err
		}
		sum = joined(joined(sum, read, p.at-from), p.sum, p.size)
		from = p.end()
	}
	return sum, nil
}

// joined is the checksum of two parts that follow each other, the second of which has n
// bytes. Checksums are polynomials modulo another one: the first is multiplied by x for
// each bit of the second.
func joined(first, second uint32, n int64) uint32 {
	factor, square := uint32(1<<31), uint32(1<<(31-8)) // 1, and x for each bit of a byte
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			factor = product(factor, square)
		}
		square = product(square, square)
	}
	return product(factor, first) ^ second
}

// product multiplies two polynomials, whose highest bits are the lowest powers.
func product(a, b uint32) (p uint32) {
	for ; a != 0; a <<= 1 {
		if a>>31 != 0 {
			p ^= b
		}
		reduce := -(b & 1) & crc32.Castagnoli
		b = b>>1 ^ reduce
	}
	return p
}
