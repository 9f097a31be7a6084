package gunzip

import "math/bits"

// A table is indexed by the next bits of input. An entry has, from below:
// the bits to take, with those of extra bits; the bits of the code alone; what
// it is; and a value. Codes longer than the index go on in a further table,
// whose place is the value and whose index the lower fields describe.
const (
	bitsMask   = 0x3f // to take
	codeShift  = 6    // bits of the code alone, or of a further table's index
	codeMask   = 0x1f
	literal    = 1 << 11
	special    = 1 << 12 // not a length or distance: one of the next three
	further    = 1 << 13
	blockEnd   = 1 << 14
	invalid    = 1 << 15
	valueShift = 16
)

const (
	maxLiterals  = 286
	maxDistances = 30
	maxCode      = 15 // bits

	literalBits  = 11
	distanceBits = 8
	lengthBits   = 7
)

// codes are the tables of a block.
type codes struct {
	isFixed bool
	lengths [1 << lengthBits]uint32
	// Behind the index are further tables. Each begins with at least two codes.
	literals  [1<<literalBits + maxLiterals/2<<(maxCode-literalBits)]uint32
	distances [1<<distanceBits + maxDistances/2<<(maxCode-distanceBits)]uint32
}

// lengthBase and distanceBase are the least values of codes with extra bits.
var (
	lengthBase = [...]uint16{3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258}
	lengthMore = [...]uint8{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0}
)

func literalEntry(symbol int) uint32 {
	switch {
	case symbol < 256:
		return literal | uint32(symbol)<<valueShift
	case symbol == 256:
		return special | blockEnd
	case symbol >= maxLiterals:
		return special | invalid
	}
	return uint32(lengthBase[symbol-257])<<valueShift | uint32(lengthMore[symbol-257])
}

func distanceEntry(symbol int) uint32 {
	if symbol >= maxDistances {
		return special | invalid
	}
	if symbol < 4 {
		return uint32(symbol+1) << valueShift
	}
	more := uint32(symbol/2 - 1)
	return (uint32(2+symbol%2)<<more+1)<<valueShift | more
}

func lengthEntry(symbol int) uint32 { return uint32(symbol) << valueShift }

func (c *codes) setLengths(lengths []byte) bool {
	return build(c.lengths[:], lengthBits, lengths, lengthEntry)
}

func (c *codes) setLiterals(lengths []byte) bool {
	c.isFixed = false
	return build(c.literals[:], literalBits, lengths, literalEntry)
}

func (c *codes) setDistances(lengths []byte) bool {
	return build(c.distances[:], distanceBits, lengths, distanceEntry)
}

// fixed sets the codes that blocks have without a description.
func (c *codes) fixed() {
	if c.isFixed {
		return
	}
	var lengths [288]byte
	for i := range lengths {
		switch {
		case i < 144 || i >= 280:
			lengths[i] = 8
		case i < 256:
			lengths[i] = 9
		default:
			lengths[i] = 7
		}
	}
	c.setLiterals(lengths[:])
	var distances [32]byte
	for i := range distances {
		distances[i] = 5
	}
	c.setDistances(distances[:])
	c.isFixed = true
}

// build fills a table from the lengths of a canonical code. It is false if no
// code has these lengths, or if some input has no meaning; only a code of one
// symbol may leave the other half out, and an empty code means that none
// comes.
func build(table []uint32, index int, lengths []byte, entry func(int) uint32) bool {
	var counts, next [maxCode + 2]int
	longest := 0
	for _, n := range lengths {
		counts[n]++
		longest = max(longest, int(n))
	}
	counts[0] = 0
	code := 0
	for n := 1; n <= longest; n++ {
		code = (code + counts[n-1]) << 1
		next[n] = code
	}
	full := code + counts[longest]
	for i := range 1 << index {
		table[i] = special | invalid
	}
	if longest == 0 {
		return true
	}
	if full != 1<<longest && !(full == 1 && longest == 1) {
		return false
	}
	b := builder{table: table, index: index, free: 1 << index, longest: longest}
	for symbol, n := range lengths {
		if n > 0 {
			b.add(next[n], int(n), entry(symbol))
			next[n]++
		}
	}
	return true
}

// builder fills a table, code by code in the order of symbols.
type builder struct {
	table   []uint32
	index   int
	free    int // where the next further table begins
	longest int
}

func (b *builder) add(code, n int, entry uint32) {
	reversed := int(bits.Reverse16(uint16(code)) >> (16 - n))
	more := int(entry & bitsMask)
	if n <= b.index {
		entry = entry&^bitsMask | uint32(n+more) | uint32(n)<<codeShift
		for i := reversed; i < 1<<b.index; i += 1 << n {
			b.table[i] = entry
		}
		return
	}
	first := reversed & (1<<b.index - 1)
	if b.table[first]&further == 0 {
		b.table[first] = special | further | uint32(b.longest-b.index)<<codeShift | uint32(b.index) | uint32(b.free)<<valueShift
		b.free += 1 << (b.longest - b.index)
	}
	at, rest := int(b.table[first]>>valueShift), n-b.index
	entry = entry&^bitsMask | uint32(rest+more) | uint32(rest)<<codeShift
	for i := reversed >> b.index; i < 1<<(b.longest-b.index); i += 1 << rest {
		b.table[at+i] = entry
	}
}
