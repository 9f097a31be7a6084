package batch

// The parser calls itself for each level of nesting. Texts that people write are
// shorter, and less deeply nested, than these.
const (
	maxShell   = 1 << 19
	maxNesting = 10000
)

// inner is a text of shell: the script itself, or a word of it, as in bash -c.
type inner struct {
	text string
	// offsets say where in the script each byte comes from; nil is where it is.
	offsets []int
}

func (n inner) at(offset int) int {
	if n.offsets == nil {
		return offset
	}
	if offset < len(n.offsets) {
		return n.offsets[offset]
	}
	if len(n.offsets) == 0 {
		return 0
	}
	return n.offsets[len(n.offsets)-1]
}

// tooMuch tells whether a text is too long, or may be nested too deeply, to be
// read. It counts signs that begin something, be they quoted or not.
func (n inner) tooMuch() bool {
	depth, deepest := 0, 0
	for i := range len(n.text) {
		switch n.text[i] {
		case '(', '{', '[', '`', '!', '~':
			depth++
			deepest = max(deepest, depth)
		case ')', '}', ']':
			depth = max(depth-1, 0)
		}
	}
	return len(n.text) > maxShell || deepest > maxNesting
}
