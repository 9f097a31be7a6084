package store

// polynomial is that of CRC64NVME, reversed: the highest bit stands for x^0.
const polynomial = 0x9a6c9329ac4bc9b5

const (
	one       = 1 << 63       // x^0
	eightBits = 1 << (63 - 8) // x^8: what a byte shifts by
)

// Combine is the CRC64NVME of content that follows other content, from both CRCs and the length of the second: the first is
// shifted by so many bytes, which is a multiplication by a power of x.
func Combine(first, second uint64, secondBytes int64) uint64 {
	if first == 0 {
		return second // as of most contents, which are of one piece
	}
	return times(first, power(eightBits, secondBytes)) ^ second
}

// power is a^n modulo the polynomial.
func power(a uint64, n int64) uint64 {
	p := uint64(one)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			p = times(p, a)
		}
		a = times(a, a)
	}
	return p
}

// times is a*b modulo the polynomial.
func times(a, b uint64) uint64 {
	var product uint64
	for ; a != 0; a <<= 1 {
		if a&one != 0 {
			product ^= b
		}
		carry := b & 1
		b >>= 1
		if carry != 0 {
			b ^= polynomial
		}
	}
	return product
}
