package gunzip

import "encoding/binary"

// margin is how many bytes one round of symbols writes at most, and a repetition beyond
// its end.
const margin = 3 + 258 + 16

// symbols decompresses until its block ends or there is no room. It is where the time
// goes: what it needs is in variables of its own, and up to three literals are taken
// between two looks at the rest of the input.
func (r *Reader) symbols() error {
	lit, dist, out, buf := &r.lit, &r.dist, r.out, r.buf
	bits, n, at, to := r.bits, r.n, r.at, r.to
	var err error
	for to < len(out)-margin {
		if at > r.end-enough {
			if r.bits, r.n, r.at, r.to = bits, n, at, to; r.overrun() {
				return nil
			}
			r.fill()
			bits, n, at = r.bits, r.n, r.at
		}
		bits, n, at = refill(bits, n, buf, at)
		e := lit[bits&(1<<litBits-1)]
		if e&literal != 0 {
			bits, n, out[to], to = bits>>(e&63), n-uint(e&63), byte(e>>16), to+1
			if e = lit[bits&(1<<litBits-1)]; e&literal != 0 {
				bits, n, out[to], to = bits>>(e&63), n-uint(e&63), byte(e>>16), to+1
				e = lit[bits&(1<<litBits-1)]
			}
		}
		if e&link != 0 {
			e = lit[e>>16+entry(bits>>litBits)&(1<<(e>>8&15)-1)]
		}
		value := int(e>>16) + int(bits&(1<<(e&63)-1)>>(e>>8&15))
		bits, n = bits>>(e&63), n-uint(e&63)
		if e&literal != 0 {
			out[to] = byte(e >> 16)
			to++
			continue
		}
		if e&special != 0 {
			if r.next = (*Reader).block; value != stop {
				err = ErrData
			}
			break
		}
		if n < 28 { // 15 of a code, and 13
			bits, n, at = refill(bits, n, buf, at)
		}
		e = dist[bits&(1<<distBits-1)]
		if e&link != 0 {
			e = dist[e>>16+entry(bits>>distBits)&(1<<(e>>8&15)-1)]
		}
		distance := int(e>>16) + int(bits&(1<<(e&63)-1)>>(e>>8&15))
		bits, n = bits>>(e&63), n-uint(e&63)
		if e&special != 0 || distance > to-r.first {
			err = ErrData
			break
		}
		repeat(out, to, distance, value)
		to += value
	}
	r.bits, r.n, r.at, r.to = bits, n, at, to
	return err
}

// repeat copies the bytes at some distance before a place, in steps of eight bytes where
// the distance allows it. It may write up to 15 bytes too many, which are overwritten
// later.
func repeat(out []byte, to, distance, length int) {
	from, end := to-distance, to+length
	if distance < 8 {
		for ; to < end; to, from = to+1, from+1 {
			out[to] = out[from]
		}
		return
	}
	for ; to < end; to, from = to+8, from+8 {
		binary.LittleEndian.PutUint64(out[to:], binary.LittleEndian.Uint64(out[from:]))
	}
}
