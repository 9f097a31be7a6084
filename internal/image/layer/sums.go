package layer

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
)

// Disks lose data, and a cache lives for months. Each stretch of a segment's stored
// blocks has a checksum, which is compared whenever the segment becomes part of an image.

const (
	// sumStretch is how many bytes have one checksum.
	sumStretch = 16 << 20
	sumSize    = 4
)

// sumCount is how many checksums so many bytes have.
func sumCount(size int64) int64 { return (size + sumStretch - 1) / sumStretch }

// sums are the checksums of what is written in a row.
type sums struct {
	whole []uint32
	part  uint32
	n     int // bytes of part
}

func (s *sums) add(b []byte) {
	for len(b) > 0 {
		n := min(len(b), sumStretch-s.n)
		s.part = crc32.Update(s.part, castagnoli(), b[:n])
		if s.n += n; s.n == sumStretch {
			s.whole, s.part, s.n = append(s.whole, s.part), 0, 0
		}
		b = b[n:]
	}
}

// list is all of them, with that of the last and shorter stretch.
func (s *sums) list() []uint32 {
	if s.n == 0 {
		return s.whole
	}
	return append(s.whole, s.part)
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// errUnreadable is a disk's error for data that it has lost.
var errUnreadable = errors.New("it cannot be read")

// readStretch reads a stretch piece by piece and returns its checksum.
func readStretch(r io.ReaderAt, from, size int64, buf []byte, each func(at int64, piece []byte) error) (sum uint32, err error) {
	for end := from + size; from < end; {
		piece := buf[:min(int64(len(buf)), end-from)]
		if _, err := r.ReadAt(piece, from); err != nil {
			return 0, fmt.Errorf("%w: %w", errUnreadable, err)
		}
		sum = crc32.Update(sum, castagnoli(), piece)
		if err := each(from, piece); err != nil {
			return 0, err
		}
		from += int64(len(piece))
	}
	return sum, nil
}

// eachOf does n things, as many at once as there are CPUs, each with a buffer. It begins
// none after one has failed.
func eachOf(ctx context.Context, n int, do func(i int, buf []byte) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		group.Go(func() {
			buf := make([]byte, 1<<20)
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(i, buf); err != nil {
					cancel(err)
				}
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}
