package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"

	"github.com/minio/crc64nvme"
)

// source is the content of an upload, which is read once, from its beginning to its end, and summed up on the way.
type source struct {
	Upload
	memory *memory
	pace   pace
	most   int64 // is held in one piece
	at     int64
	sha    hash.Hash
	crc    uint64
}

func (s *S3) source(u Upload) *source {
	return &source{Upload: u, memory: s.memory, pace: s.pace, most: max(s.limits.whole, s.limits.part), sha: sha256.New()}
}

// piece is a part of a content, which can be read as often as it has to be sent.
type piece struct {
	content io.ReaderAt
	from    int64 // its offset there
	size    int64
	crc     uint64
	held    bool // in memory
	free    func()
}

// pieces reads all of the content in pieces of a size, which each has to be freed by who takes it.
func (s *source) pieces(ctx context.Context, size int64, take func(i int, p piece)) (Sums, error) {
	for i := 0; s.at < s.SizeBytes; i++ {
		p, err := s.next(ctx, min(size, s.SizeBytes-s.at))
		if err != nil {
			return Sums{}, err
		}
		take(i, p)
	}
	return s.end()
}

// next reads so many bytes.
func (s *source) next(ctx context.Context, size int64) (piece, error) {
	read := s.hold
	if size > s.most {
		read = s.skim
	}
	end, err := s.pace.turn(ctx, size)
	if err != nil {
		return piece{}, err
	}
	p, err := read(ctx, size)
	if err != nil {
		end()
		return piece{}, err
	}
	free := p.free
	p.free = func() { free(); end() }
	s.crc = Combine(s.crc, p.crc, size)
	return p, nil
}

// hold reads a piece into memory.
func (s *source) hold(ctx context.Context, size int64) (piece, error) {
	held, err := s.memory.take(ctx, size)
	if err != nil {
		return piece{}, err
	}
	p := piece{content: bytes.NewReader(held), size: size, held: true, free: func() { s.memory.give(held) }}
	for rest := held; len(rest) > 0; {
		n := min(len(rest), readBytes)
		if err := s.read(ctx, rest[:n], &p.crc); err != nil {
			p.free()
			return piece{}, err
		}
		rest = rest[n:]
	}
	return p, nil
}

// skim reads a piece that is too large to be held. It is read again to be sent, and the place refuses other bytes.
func (s *source) skim(ctx context.Context, size int64) (piece, error) {
	p := piece{content: s.Body, from: s.at, size: size, free: func() {}}
	buffer := make([]byte, readBytes)
	for left := size; left > 0; {
		n := min(left, readBytes)
		if err := s.read(ctx, buffer[:n], &p.crc); err != nil {
			return piece{}, err
		}
		left -= n
	}
	return p, nil
}

// read fills b, which is summed up while it is in the processor's cache.
func (s *source) read(ctx context.Context, b []byte, crc *uint64) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	n, err := s.Body.ReadAt(b, s.at)
	if n < len(b) {
		if err == nil || err == io.EOF {
			err = otherBody{io.ErrUnexpectedEOF}
		}
		return err
	}
	s.at += int64(n)
	s.sha.Write(b)
	*crc = crc64nvme.Update(*crc, b)
	return nil
}

// end judges what was read, before anything of it appears: nothing may have changed meanwhile, and it has to be what
// the caller knows of it.
func (s *source) end() (Sums, error) {
	if s.Same != nil {
		if err := s.Same(); err != nil {
			return Sums{}, otherBody{err}
		}
	}
	sums := Sums{SHA256: hex.EncodeToString(s.sha.Sum(nil)), CRC64NVME: crcText(s.crc)}
	if err := s.Sums.holds(sums); err != nil {
		return sums, otherBody{err}
	}
	return sums, nil
}

// otherBody is the error of a content that is not what it was.
type otherBody struct{ error }

func (o otherBody) Unwrap() error { return o.error }

// holds compares what is known of the sums with what they are.
func (known Sums) holds(sums Sums) error {
	if known.SHA256 != "" && known.SHA256 != sums.SHA256 {
		return fmt.Errorf("%w: got %s, want %s", ErrChecksum, sums.SHA256, known.SHA256)
	}
	if known.CRC64NVME != "" && known.CRC64NVME != sums.CRC64NVME {
		return fmt.Errorf("%w: got %s, want %s", ErrChecksum, sums.CRC64NVME, known.CRC64NVME)
	}
	return nil
}
