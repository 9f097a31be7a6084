package yamledit

// LineStarts are the bytes at which lines begin. Breaks are those of YAML 1.1, which
// the parser counts: LF, CR, CR LF, NEL, LS and PS.
func LineStarts(data []byte) []int {
	starts := []int{0}
	for i := 0; i < len(data); i++ {
		if n := breakAt(data[i:]); n > 0 {
			starts = append(starts, i+n)
			i += n - 1
		}
	}
	return starts
}

// breakAt is the length of the line break that data begins with.
func breakAt(data []byte) int {
	switch data[0] {
	case '\n':
		return 1
	case '\r':
		if len(data) > 1 && data[1] == '\n' {
			return 2
		}
		return 1
	case 0xc2:
		if len(data) > 1 && data[1] == 0x85 {
			return 2
		}
	case 0xe2:
		if len(data) > 2 && data[1] == 0x80 && (data[2] == 0xa8 || data[2] == 0xa9) {
			return 3
		}
	}
	return 0
}
