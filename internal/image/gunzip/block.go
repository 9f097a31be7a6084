package gunzip

// block reads a block's header.
func (r *Reader) block() error {
	if r.last {
		r.last, r.next = false, (*Reader).trailer
		return nil
	}
	r.last = r.take(1) == 1
	switch r.take(2) {
	case 0:
		return r.plain()
	case 1:
		lit, dist := fixedLengths()
		build(r.lit[:], litBits, lit[:], meaning.lit[:])
		build(r.dist[:], distBits, dist[:], meaning.dist[:])
	case 2:
		if !r.dynamic() {
			return ErrData
		}
	default:
		return ErrData
	}
	r.next = (*Reader).symbols
	return nil
}

// plain reads the header of a block that is not compressed.
func (r *Reader) plain() error {
	r.align()
	r.stored = int(r.take(16))
	if int(r.take(16)) != r.stored^0xffff {
		return ErrData
	}
	r.next = (*Reader).copyStored
	return nil
}

// copyStored gives away what is not compressed.
func (r *Reader) copyStored() error {
	if r.stored == 0 {
		r.next = (*Reader).block
		return nil
	}
	r.unread()
	if !r.more() {
		return r.missing()
	}
	n := copy(r.out[r.to:], r.buf[r.at:min(r.end, r.at+r.stored)])
	r.at, r.to, r.stored = r.at+n, r.to+n, r.stored-n
	r.bits = 0
	return nil
}

// lenOrder is the order in which the lengths of the lengths' codes come.
var lenOrder = [lenSymbols]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// dynamic reads the lengths of a block's codes, and makes the tables. It tells whether
// they are right.
func (r *Reader) dynamic() bool {
	lits, dists, lens := 257+int(r.take(5)), 1+int(r.take(5)), 4+int(r.take(4))
	if lits > 286 || dists > 30 {
		return false
	}
	var of [lenSymbols]uint8
	for _, symbol := range lenOrder[:lens] {
		of[symbol] = uint8(r.take(3))
	}
	const rootBits = 7 // all that such a code can have
	var table [1 << rootBits]entry
	if !build(table[:], rootBits, of[:], meaning.len[:]) {
		return false
	}
	var all [litSymbols + distSymbols]uint8
	lengths := all[:lits+dists]
	for i := 0; i < len(lengths); {
		if i = r.length(&table, lengths, i); i < 0 {
			return false
		}
	}
	return build(r.lit[:], litBits, lengths[:lits], meaning.lit[:]) && build(r.dist[:], distBits, lengths[lits:], meaning.dist[:])
}

// length reads one length, or repetitions of one, from place i on. It returns the next
// place, or -1.
func (r *Reader) length(table *[1 << 7]entry, lengths []uint8, i int) int {
	r.peek()
	e := table[r.bits&(1<<7-1)]
	if e&special != 0 {
		return -1
	}
	r.take(uint(e & 0xff))
	symbol := uint8(e >> 16)
	if symbol < 16 {
		lengths[i] = symbol
		return i + 1
	}
	times, value := 0, uint8(0)
	switch symbol {
	case 16:
		if i == 0 {
			return -1
		}
		times, value = 3+int(r.take(2)), lengths[i-1]
	case 17:
		times = 3 + int(r.take(3))
	case 18:
		times = 11 + int(r.take(7))
	}
	if i+times > len(lengths) {
		return -1
	}
	for n := range times {
		lengths[i+n] = value
	}
	return i + times
}
