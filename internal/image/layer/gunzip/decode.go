package gunzip

import (
	"encoding/binary"
	"io"
)

// decodeCodes decodes a block's literals and matches until the block ends or
// out is full.
func (r *Reader) decodeCodes() error {
	for r.to < window+outSize {
		if err := r.more(safeInput); err != nil {
			return err
		}
		why := r.run()
		if r.overrun() {
			return io.ErrUnexpectedEOF
		}
		switch why {
		case wrongCode:
			return damaged("unknown code, or a match before the beginning")
		case blockEnded:
			r.state = atBlock
			return nil
		}
	}
	return nil
}

// safeInput is what a step may read of the input: two words, of which the
// second begins at most seven bytes behind the first.
const safeInput = 16

// outcome is why run stops.
type outcome int

const (
	paused outcome = iota // for input or room
	blockEnded
	wrongCode
)

// run does steps as long as there is input and room: up to three literals, or
// up to two and a match. This is where the time goes: it works on copies of the
// reader's fields, and gets new bits once for the first and twice for the other.
func (r *Reader) run() (why outcome) {
	in, out, at, to := r.in, r.out, r.at, r.to
	bits, count := r.bits, r.count
	literals, distances := &r.codes.literals, &r.codes.distances
	last := r.end - safeInput
	if r.ended {
		last = r.end + 7 // zeros follow; what is read ahead is not yet used
	}
	for at <= last && to < window+outSize {
		bits, count, at = refill(in, bits, count, at)
		e := literals[bits&(1<<literalBits-1)]
		for n := 0; n < 2 && e&literal != 0; n++ {
			out[to] = byte(e >> valueShift)
			to++
			bits, count = bits>>(e&bitsMask), count-uint(e&bitsMask)
			e = literals[bits&(1<<literalBits-1)]
		}
		if e&further != 0 {
			bits, count = bits>>literalBits, count-literalBits
			e = literals[place(e, bits)]
		}
		if e&(literal|special) != 0 {
			if e&invalid != 0 {
				why = wrongCode
				break
			}
			bits, count = bits>>(e&bitsMask), count-uint(e&bitsMask)
			if e&blockEnd != 0 {
				why = blockEnded
				break
			}
			out[to] = byte(e >> valueShift)
			to++
			continue
		}
		length := value(e, bits)
		bits, count = bits>>(e&bitsMask), count-uint(e&bitsMask)
		bits, count, at = refill(in, bits, count, at)
		e = distances[bits&(1<<distanceBits-1)]
		if e&further != 0 {
			bits, count = bits>>distanceBits, count-distanceBits
			e = distances[place(e, bits)]
		}
		from := to - value(e, bits)
		if e&invalid != 0 || from < r.oldest {
			why = wrongCode
			break
		}
		bits, count = bits>>(e&bitsMask), count-uint(e&bitsMask)
		repeat(out, from, to, to+length)
		to += length
	}
	r.at, r.to, r.bits, r.count = at, to, bits, count
	return why
}

// refill has at least 56 bits ready. There are eight bytes of input, or zeros.
func refill(in []byte, bits uint64, count uint, at int) (uint64, uint, int) {
	return bits | binary.LittleEndian.Uint64(in[at:])<<(count&63), count | 56, at + int((63-count)>>3)
}

// value is what a length's or distance's code and its extra bits say.
func value(e uint32, bits uint64) int {
	return int(e>>valueShift) + int(bits&(1<<(e&bitsMask)-1)>>(e>>codeShift&codeMask))
}

// place is where a code goes on in a further table.
func place(e uint32, bits uint64) uint64 {
	return uint64(e>>valueShift) + bits&(1<<(e>>codeShift&codeMask)-1)
}

// repeat copies a match to [to, end). It may write seven bytes more.
func repeat(out []byte, from, to, end int) {
	if to-from >= 8 {
		for ; to < end; to, from = to+8, from+8 {
			binary.LittleEndian.PutUint64(out[to:], binary.LittleEndian.Uint64(out[from:]))
		}
		return
	}
	for ; to < end; to, from = to+1, from+1 {
		out[to] = out[from]
	}
}
