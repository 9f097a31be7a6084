package gunzip

import (
	"encoding/binary"
	"io"
)

// need has at least n bits ready, of at most 32.
func (r *Reader) need(n uint) error {
	if r.count < n {
		if err := r.more(8); err != nil {
			return err
		}
		r.bits, r.count, r.at = refill(r.in, r.bits, r.count, r.at)
	}
	if r.count < n || r.overrun() {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// overrun says whether zeros behind the input's end were used.
func (r *Reader) overrun() bool { return r.at-int(r.count/8) > r.end }

// take returns the next n bits, which need has made ready.
func (r *Reader) take(n uint) uint32 {
	v := uint32(r.bits & (1<<n - 1))
	r.bits >>= n
	r.count -= n
	return v
}

// block reads a block's header, or what ends the member.
func (r *Reader) block() error {
	if r.final {
		return r.trailer()
	}
	if err := r.need(3); err != nil {
		return err
	}
	r.final = r.take(1) == 1
	switch r.take(2) {
	case 0:
		b, err := r.bytes(4)
		if err != nil {
			return err
		}
		n := binary.LittleEndian.Uint16(b)
		if binary.LittleEndian.Uint16(b[2:]) != ^n {
			return damaged("wrong size of a stored block")
		}
		r.stored, r.state = int(n), inStored
	case 1:
		r.codes.fixed()
		r.state = inCodes
	case 2:
		if err := r.readCodes(); err != nil {
			return err
		}
		r.state = inCodes
	default:
		return damaged("unknown block")
	}
	return nil
}

func (r *Reader) copyStored() error {
	if r.stored == 0 {
		r.state = atBlock
		return nil
	}
	if err := r.more(1); err != nil {
		return err
	}
	if r.at == r.end {
		return io.ErrUnexpectedEOF
	}
	n := copy(r.out[r.to:window+outSize], r.in[r.at:min(r.end, r.at+r.stored)])
	r.at, r.to, r.stored = r.at+n, r.to+n, r.stored-n
	return nil
}

// order is how a block's header lists the lengths of the code of lengths.
const order = "\x10\x11\x12\x00\x08\x07\x09\x06\x0a\x05\x0b\x04\x0c\x03\x0d\x02\x0e\x01\x0f"

// readCodes reads the two codes of a block.
func (r *Reader) readCodes() error {
	if err := r.need(14); err != nil {
		return err
	}
	literals, distances, lengths := int(r.take(5))+257, int(r.take(5))+1, int(r.take(4))+4
	if literals > maxLiterals || distances > maxDistances {
		return damaged("too many codes")
	}
	var code [19]byte
	for i := range lengths {
		if err := r.need(3); err != nil {
			return err
		}
		code[order[i]] = byte(r.take(3))
	}
	if !r.codes.setLengths(code[:]) {
		return damaged("wrong code of lengths")
	}
	var list [maxLiterals + maxDistances]byte
	if err := r.readLengths(list[:literals+distances]); err != nil {
		return err
	}
	if !r.codes.setLiterals(list[:literals]) || !r.codes.setDistances(list[literals:literals+distances]) {
		return damaged("wrong code")
	}
	return nil
}

// readLengths reads code lengths, of which runs are shortened.
func (r *Reader) readLengths(list []byte) error {
	for i := 0; i < len(list); {
		if err := r.need(7 + 7); err != nil {
			return err
		}
		e := r.codes.lengths[r.bits&(1<<lengthBits-1)]
		if e&invalid != 0 {
			return damaged("unknown length")
		}
		r.take(uint(e & bitsMask))
		length := byte(e >> valueShift)
		if length < 16 {
			list[i] = length
			i++
			continue
		}
		var repeated byte
		var n int
		switch length {
		case 16:
			if i == 0 {
				return damaged("a repetition of nothing")
			}
			repeated, n = list[i-1], 3+int(r.take(2))
		case 17:
			n = 3 + int(r.take(3))
		default:
			n = 11 + int(r.take(7))
		}
		if n > len(list)-i {
			return damaged("too many lengths")
		}
		for range n {
			list[i] = repeated
			i++
		}
	}
	return nil
}
