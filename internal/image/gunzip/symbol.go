package gunzip

// How many symbols there are at most; some of the last mean nothing.
const (
	litSymbols  = 288
	distSymbols = 32
	lenSymbols  = 19
)

// meanings are the entries of symbols, without their codes.
type meanings struct {
	lit  [litSymbols]entry
	dist [distSymbols]entry
	len  [lenSymbols]entry
}

// meaning is the same for all (RFC 1951, 3.2.5).
var meaning = makeMeanings()

func makeMeanings() *meanings {
	m := &meanings{}
	for i := range 256 {
		m.lit[i] = literal | entry(i)<<16
	}
	m.lit[256] = special | stop<<16
	bases(m.lit[257:285], 3, 4)
	m.lit[285] = 258 << 16
	m.lit[286], m.lit[287] = special, special
	bases(m.dist[:30], 1, 2)
	m.dist[30], m.dist[31] = special, special
	for i := range m.len {
		m.len[i] = entry(i) << 16
	}
	return m
}

// bases fills in ranges that follow each other from a first value on: twice as many as
// group of one value, then group of two, group of four, and so on.
func bases(list []entry, value, group int) {
	for i := range list {
		extra := max(i/group-1, 0)
		list[i] = entry(value)<<16 | entry(extra)
		value += 1 << extra
	}
}

// fixedLengths are those of blocks that name none (RFC 1951, 3.2.6).
func fixedLengths() (lit [litSymbols]uint8, dist [distSymbols]uint8) {
	for i := range lit {
		switch {
		case i < 144 || i >= 280:
			lit[i] = 8
		case i < 256:
			lit[i] = 9
		default:
			lit[i] = 7
		}
	}
	for i := range dist {
		dist[i] = 5
	}
	return lit, dist
}
