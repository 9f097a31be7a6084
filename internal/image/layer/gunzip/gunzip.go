// Package gunzip decompresses gzip, which is most of the work of reading an
// image's layers. It takes about two thirds of the time of the general readers,
// because it decodes into one large buffer, a word of input at a time. What it
// accepts, and what it makes of it, is what compress/gzip does.
package gunzip

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// ErrFormat says that the input is no gzip, or was damaged.
var ErrFormat = errors.New("damaged gzip")

const (
	window  = 32 << 10
	outSize = 256 << 10
	// outSlack is what one step may write behind the place where it is allowed
	// to begin: two literals and a match, whose copy goes eight bytes at a time.
	outSlack = 2 + 258 + 8
	inSize   = 64 << 10
	// pad is zeros behind the input's end, which steps may read but not use.
	pad = 32
)

// state is what comes next in the input.
type state int

const (
	atMember state = iota // a member, or the end
	atBlock
	inStored
	inCodes
)

// Reader decompresses a stream of gzip members.
type Reader struct {
	src   io.Reader
	err   error // of src, or what is wrong with its content
	state state
	final bool // the block is its member's last
	first bool // no member has begun

	in     []byte // in[at:end] is still to decode; pad zeros follow if src has ended
	at     int
	end    int
	ended  bool
	bits   uint64 // read ahead from in; those above count are in's next, too
	count  uint   // of valid bits
	stored int    // bytes left of a stored block

	out    []byte
	oldest int // the first byte of out that a match may reach
	summed int // up to here the checksum goes
	read   int // up to here the caller has it
	to     int // the next byte's place
	sum    uint32
	size   uint32

	codes codes
}

// NewReader begins to read gzip. It reads ahead.
func NewReader(src io.Reader) *Reader {
	return &Reader{src: src, first: true, in: make([]byte, inSize+pad), out: make([]byte, window+outSize+outSlack)}
}

// Read returns decompressed bytes. The error wraps ErrFormat,
// io.ErrUnexpectedEOF, or is the source's.
func (r *Reader) Read(p []byte) (int, error) {
	for r.read == r.to {
		if r.err != nil {
			return 0, r.err
		}
		r.slide()
		r.err = r.decode()
		r.checksum()
	}
	n := copy(p, r.out[r.read:r.to])
	r.read += n
	return n, nil
}

// slide makes room in out and keeps the window.
func (r *Reader) slide() {
	if by := r.to - window; by > 0 {
		copy(r.out, r.out[by:r.to])
		r.to, r.read = window, window
		r.oldest, r.summed = max(r.oldest-by, 0), r.summed-by
	}
}

// checksum takes what was decoded into the member's checksum.
func (r *Reader) checksum() {
	fresh := r.out[r.summed:r.to]
	r.sum = crc32.Update(r.sum, crc32.IEEETable, fresh)
	r.size += uint32(len(fresh))
	r.summed = r.to
}

// decode goes on until out is full or the input ends.
func (r *Reader) decode() error {
	for r.to < window+outSize {
		var err error
		switch r.state {
		case atMember:
			err = r.member()
		case atBlock:
			err = r.block()
		case inStored:
			err = r.copyStored()
		case inCodes:
			err = r.decodeCodes()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// more reads input until there are n bytes, or all that there is. It keeps
// what align may give back.
func (r *Reader) more(n int) error {
	if r.end-r.at >= n || r.ended {
		return nil
	}
	keep := min(r.at, 8)
	r.end = copy(r.in, r.in[r.at-keep:r.end])
	r.at = keep
	for idle := 0; r.end-r.at < n; idle++ {
		m, err := r.src.Read(r.in[r.end:inSize])
		r.end += m
		if err == io.EOF {
			r.ended = true
			clear(r.in[r.end : r.end+pad])
			return nil
		}
		if err != nil {
			return err
		}
		if m > 0 {
			idle = 0
		} else if idle == 100 {
			return io.ErrNoProgress
		}
	}
	return nil
}

// bytes returns the next n bytes of input, at a byte's boundary.
func (r *Reader) bytes(n int) ([]byte, error) {
	r.align()
	if err := r.more(n); err != nil {
		return nil, err
	}
	if r.end-r.at < n {
		return nil, io.ErrUnexpectedEOF
	}
	b := r.in[r.at : r.at+n]
	r.at += n
	return b, nil
}

// align gives back whole bytes that were read ahead, and drops the rest of a
// byte.
func (r *Reader) align() {
	r.at -= int(r.count / 8)
	r.bits, r.count = 0, 0
}

func damaged(what string) error { return fmt.Errorf("%w: %s", ErrFormat, what) }
