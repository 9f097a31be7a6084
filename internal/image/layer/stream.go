package layer

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"github.com/muster-hpc/muster/internal/image/gunzip"
)

// stream is a layer's tar as it is read, in three stages that run at once:
// bytes as they come, decompression, and the tar itself. Every byte is counted
// and hashed.
type stream struct {
	raw    io.Closer
	blob   *blob
	first  *ahead
	second *ahead
	zstd   *zstd.Decoder
	narrow func() // gives back the place in wide
	tar    *tarBytes
}

// open starts the stages. Of layers whose decompression takes much memory, one
// is open at a time: wide has one place.
func open(ctx context.Context, raw io.ReadCloser, wide chan struct{}, d Descriptor, o BuildOptions) (*stream, error) {
	s := &stream{raw: raw, narrow: func() {}}
	alive := func() error { return context.Cause(ctx) }
	s.blob = &blob{alive: alive, r: raw, size: d.Size, most: o.Limits.Bytes, sum: sha256.New(), progress: o.Progress}
	s.first = newAhead(s.blob)
	plain, err := s.decompress(ctx, wide, bufio.NewReaderSize(s.first, 4<<10))
	if err != nil {
		s.close()
		return nil, err
	}
	s.second = newAhead(plain)
	s.tar = &tarBytes{r: s.second, limits: o.Limits, read: &s.blob.read, sum: sha256.New()}
	return s, nil
}

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// Windows of zstd layers: all encoders but those of --ultra stay below
// usualWindow; maxWindow is what --ultra can make.
const (
	usualWindow = 8 << 20
	maxWindow   = 128 << 20
)

// decompress finds out how the layer is compressed. A gzip layer may have
// several members, as parallel and lazy-loading compressors write them.
func (s *stream) decompress(ctx context.Context, wide chan struct{}, r *bufio.Reader) (io.Reader, error) {
	head, err := r.Peek(len(zstdMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		z, err := gunzip.NewReader(r)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrStream, err)
		}
		return z, nil
	case bytes.Equal(head, zstdMagic):
		return s.unzstd(ctx, wide, r)
	default:
		return r, nil
	}
}

// unzstd decompresses zstd. A later frame's window is at most the first one's,
// or a usual one.
func (s *stream) unzstd(ctx context.Context, wide chan struct{}, r *bufio.Reader) (io.Reader, error) {
	head, err := r.Peek(zstd.HeaderMaxSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var h zstd.Header
	if err := h.Decode(head); err != nil {
		return nil, fmt.Errorf("%w: zstd: %w", ErrStream, err)
	}
	window := max(h.WindowSize, usualWindow)
	if window > maxWindow {
		return nil, fmt.Errorf("%w: zstd window of %d bytes", ErrLimit, window)
	}
	if window > usualWindow {
		select {
		case wide <- struct{}{}:
			s.narrow = func() { <-wide }
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	s.zstd, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))
	return s.zstd, err
}

// finish reads what follows the tar's end and compares digests and size.
func (s *stream) finish(d Descriptor) error {
	if _, err := io.Copy(io.Discard, onlyReader{s.tar}); err != nil {
		return damaged(err)
	}
	if _, err := io.Copy(io.Discard, onlyReader{s.first}); err != nil {
		return damaged(err)
	}
	if n := s.blob.read.Load(); d.Size > 0 && n != d.Size {
		return fmt.Errorf("%w: it has %d bytes, not %d", ErrSize, n, d.Size)
	}
	if got := text(s.blob.sum); d.Digest != "" && got != d.Digest {
		return fmt.Errorf("%w: it is %s", ErrDigest, got)
	}
	if got := text(s.tar.sum); d.DiffID != "" && got != d.DiffID {
		return fmt.Errorf("%w: it is %s, not %.100s", ErrDiffID, got, d.DiffID)
	}
	return nil
}

func text(h hash.Hash) string { return fmt.Sprintf("sha256:%x", h.Sum(nil)) }

// onlyReader hides all but Read.
type onlyReader struct{ io.Reader }

// close ends all stages, from the outside in.
func (s *stream) close() error {
	s.blob.closing.Store(true)
	err := s.raw.Close()
	s.first.close()
	if s.second != nil {
		s.second.close()
	}
	if s.zstd != nil {
		s.zstd.Close()
	}
	s.narrow()
	return err
}

// blob counts and hashes the layer's bytes as they come, and ends when there
// are more than there should be.
type blob struct {
	alive    func() error
	r        io.Reader
	size     int64 // 0 or less: not known
	most     int64
	sum      hash.Hash
	read     atomic.Int64
	progress func(int64)
	closing  atomic.Bool
	err      error // what ended reading before it was closed; known when its reader is
}

func (b *blob) Read(p []byte) (n int, err error) {
	if n, err = b.take(p); err != io.EOF && !b.closing.Load() {
		b.err = err
	}
	return n, err
}

func (b *blob) take(p []byte) (int, error) {
	if err := b.alive(); err != nil {
		return 0, err
	}
	n, err := b.r.Read(p)
	b.sum.Write(p[:n])
	read := b.read.Add(int64(n))
	if b.progress != nil {
		b.progress(read)
	}
	switch {
	case b.size > 0 && read > b.size:
		return n, fmt.Errorf("%w: it has more than %d bytes", ErrSize, b.size)
	case read > b.most:
		return n, fmt.Errorf("%w: it has more than %d bytes", ErrLimit, b.most)
	case err == io.EOF && b.size > 0 && read < b.size:
		return n, fmt.Errorf("%w: it ends after %d of %d bytes", ErrSize, read, b.size)
	}
	return n, err
}

// tarBytes counts and hashes the bytes of the tar.
type tarBytes struct {
	r      io.Reader
	limits Limits
	read   *atomic.Int64 // compressed bytes so far
	sum    hash.Hash
	n      int64
}

func (t *tarBytes) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.sum.Write(p[:n])
	t.n += int64(n)
	if most := max(t.limits.FreeBytes, t.limits.Ratio*t.read.Load()); t.n > min(most, t.limits.Bytes) {
		return n, fmt.Errorf("%w: it unpacks to more than %d bytes", ErrLimit, min(most, t.limits.Bytes))
	}
	return n, err
}
