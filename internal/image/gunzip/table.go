package gunzip

import "math/bits"

// A table finds an entry by the next bits of the input, of which some may belong to what
// follows. An entry is:
//
//	bits 0-7    how many bits it takes, those behind its code included
//	bits 8-11   how many of these are its code; of a link, how many bits tell the rest
//	bits 12-14  what it is, if not a base
//	bits 16-31  the literal, or the base to which the bits behind the code are added, or
//	            of a link, where the rest of it is in the table
type entry = uint32

const (
	literal entry = 1 << (12 + iota)
	link          // the code is longer than the table's first part tells
	special       // with stop as its value the end of a block; else no code at all
)

const (
	stop = 1
	// How many bits the first parts of the tables tell, and how large the tables get
	// then: zlib's enough.c counts 2342 and 402.
	litBits, litSize   = 11, 2342
	distBits, distSize = 8, 402
	maxBits            = 15
)

// tables are those of the block that is being decompressed.
type tables struct {
	lit  [litSize]entry
	dist [distSize]entry
}

// build makes a table of the lengths of codes; meaning has the entries of their symbols.
// Codes must be complete, but there may be none at all, or one of one bit, as
// the libraries have it.
func build(table []entry, rootBits uint, lengths []uint8, meaning []entry) bool {
	next, ok := firstCodes(lengths)
	if !ok {
		return false
	}
	root := table[:1<<rootBits]
	for i := range root {
		root[i] = special
	}
	var codes [litSymbols]uint16
	long := false
	for symbol, n := range lengths {
		if n == 0 {
			continue
		}
		code := bits.Reverse16(next[n]) >> (16 - n)
		next[n]++
		if codes[symbol] = code; uint(n) > rootBits {
			long = true
			prefix := &root[code&(1<<rootBits-1)]
			*prefix = link | max(*prefix&0xf00, entry(uint(n)-rootBits)<<8)
			continue
		}
		for i := int(code); i < len(root); i += 1 << n {
			root[i] = coded(meaning[symbol], n)
		}
	}
	if long {
		buildRest(table, rootBits, lengths, &codes, meaning)
	}
	return true
}

// coded is an entry behind a code of n bits.
func coded(e entry, n uint8) entry { return e + entry(n) + entry(n)<<8 }

// buildRest enters the codes that the first part of a table does not tell, behind it.
func buildRest(table []entry, rootBits uint, lengths []uint8, codes *[litSymbols]uint16, meaning []entry) {
	free := 1 << rootBits
	for symbol, n := range lengths {
		if uint(n) <= rootBits {
			continue
		}
		prefix := &table[codes[symbol]&(1<<rootBits-1)]
		size := 1 << (*prefix >> 8 & 15)
		if *prefix>>16 == 0 {
			*prefix |= entry(free) << 16
			free += size
		}
		rest := table[*prefix>>16:][:size]
		for i := int(codes[symbol] >> rootBits); i < size; i += 1 << (uint(n) - rootBits) {
			rest[i] = coded(meaning[symbol], n)
		}
	}
}

// firstCodes are the first codes of each length, and whether the lengths make a code.
func firstCodes(lengths []uint8) (next [maxBits + 2]uint16, ok bool) {
	var count [maxBits + 1]int
	for _, n := range lengths {
		count[n]++
	}
	taken := 0 // of all codes of maxBits
	for n := 1; n <= maxBits; n++ {
		next[n+1] = (next[n] + uint16(count[n])) << 1
		taken += count[n] << (maxBits - n)
	}
	used := len(lengths) - count[0]
	return next, taken == 1<<maxBits || used == 0 || used == 1 && count[1] == 1
}
