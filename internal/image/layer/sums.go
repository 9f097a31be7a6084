package layer

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"sync"
)

// Disks forget, and what is written stays for months. Each stretch of a segment's stored
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

// sumOf reads a stretch.
func sumOf(r io.ReaderAt, from, size int64) (uint32, error) {
	h := crc32.New(castagnoli())
	n, err := io.CopyBuffer(h, onlyReader{io.NewSectionReader(r, from, size)}, make([]byte, 1<<20))
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	return h.Sum32(), err
}

// Sums are the checksums of a file's first bytes, for each stretch one. All CPUs
// read.
func Sums(ctx context.Context, r io.ReaderAt, size int64) ([]uint32, error) {
	found := make([]uint32, sumCount(size))
	failed := make([]error, len(found))
	places := make(chan int64)
	var readers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(found)) {
		readers.Go(func() {
			for i := range places {
				found[i], failed[i] = sumOf(r, i*sumStretch, min(sumStretch, size-i*sumStretch))
			}
		})
	}
	for i := range int64(len(found)) {
		if ctx.Err() != nil {
			failed = append(failed, context.Cause(ctx))
			break
		}
		places <- i
	}
	close(places)
	readers.Wait()
	return found, errors.Join(failed...)
}

// checking compares the stored blocks of segments with their checksums while others
// read them, too. Segments that this process has just written are as they should be.
type checking struct {
	cache *Cache
	group sync.WaitGroup
	err   error // of the first damaged segment; known after the group's end
}

func (c *Cache) check(ctx context.Context, layers []*segment) *checking {
	k := &checking{cache: c}
	k.group.Go(func() {
		for _, s := range layers {
			if k.err = k.segment(ctx, s); k.err != nil {
				return
			}
		}
	})
	return k
}

// segment removes one that is damaged from the cache.
func (k *checking) segment(ctx context.Context, s *segment) error {
	if _, written := k.cache.written.Load(s.digest); written || len(s.sums) == 0 {
		return nil
	}
	found, err := Sums(ctx, s.file, s.foot.Index)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for i := range found {
		if err == nil && found[i] != s.sums[i] {
			err = fmt.Errorf("the segment differs from what was written, within %d bytes from byte %d on", sumStretch, i*sumStretch)
		}
	}
	if err == nil {
		return nil
	}
	return &Error{Digest: s.digest, Err: errors.Join(fmt.Errorf("%w any more: %w", ErrMissing, err), k.cache.Remove(s.digest))}
}

// wait returns what is damaged, or else how the work with the segments went.
func (k *checking) wait(err error) error {
	k.group.Wait()
	if k.err != nil {
		return k.err
	}
	return err
}
