package gunzip

import (
	"encoding/binary"
	"hash/crc32"
	"io"
)

const (
	inputSize = 64 << 10
	// enough is how many bytes there are in the buffer when symbols are read: the bits
	// are filled up less often than four times for each.
	enough = 32
	// padding are the zeros behind the input's end, so that eight bytes can be read
	// at once without asking how many are left. What was read of them is an overrun.
	padding = 40
)

// input is what is compressed, as bits, the lowest first.
type input struct {
	src io.Reader
	// buf[at:end] is what was read and is not in bits yet.
	buf     []byte
	at, end int
	ended   error // what reading ended with; nil: it goes on
	// bits are the next n bits; above them are bits of buf[at], or zeros.
	bits uint64
	n    uint
	sum  uint32 // of the bytes that byte returned
}

func newInput(src io.Reader) input {
	return input{src: src, buf: make([]byte, inputSize+padding)}
}

// fill sees to it that there are enough bytes in the buffer, or the input's end.
func (in *input) fill() {
	if in.ended != nil {
		in.at = min(in.at, in.end+padding/2)
		return
	}
	if in.end-in.at >= enough {
		return
	}
	in.unread()
	left := copy(in.buf, in.buf[in.at:in.end])
	n, err := io.ReadAtLeast(in.src, in.buf[left:inputSize], enough)
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	in.at, in.end, in.ended = 0, left+n, err
	clear(in.buf[in.end:][:padding])
}

// unread gives whole bytes of the bits back to the buffer.
func (in *input) unread() {
	in.at -= int(in.n / 8)
	in.n %= 8
	in.bits &= 1<<in.n - 1
}

// refill is what the bits are with more of them, 56 at least, and where the next ones are.
func refill(bits uint64, n uint, buf []byte, at int) (uint64, uint, int) {
	return bits | binary.LittleEndian.Uint64(buf[at:])<<(n&63), n | 56, at + int((63-n)>>3)
}

// take is the next count bits, at most 16.
func (in *input) take(count uint) uint {
	in.peek()
	v := uint(in.bits & (1<<count - 1))
	in.bits >>= count
	in.n -= count
	return v
}

// peek sees to it that there are bits enough for one take.
func (in *input) peek() {
	if in.n < 16 {
		in.fill()
		in.bits, in.n, in.at = refill(in.bits, in.n, in.buf, in.at)
	}
}

// byte is the next byte, where the input is aligned.
func (in *input) byte() byte {
	b := byte(in.take(8))
	in.sum = crc32.Update(in.sum, crc32.IEEETable, []byte{b})
	return b
}

// align skips what is left of a byte.
func (in *input) align() { in.take(in.n % 8) }

// overrun tells whether more was taken than there is.
func (in *input) overrun() bool { return in.ended != nil && 8*in.at-int(in.n) > 8*in.end }

// missing is the error of an overrun.
func (in *input) missing() error {
	if in.ended == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return in.ended
}

// more tells whether there is another byte.
func (in *input) more() bool {
	in.fill()
	return 8*in.at-int(in.n) < 8*in.end
}
