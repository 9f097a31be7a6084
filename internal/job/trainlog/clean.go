package trainlog

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"
)

const escape = 0x1b

// clean takes what terminals take for colours and movements out of a line, in a buffer that it may use again.
func clean(buffer, line []byte) []byte {
	buffer = buffer[:0]
	for len(line) > 0 {
		n := bytes.IndexByte(line, escape)
		if n < 0 {
			return append(buffer, line...)
		}
		buffer = append(buffer, line[:n]...)
		line = line[n+sequence(line[n:]):]
	}
	return buffer
}

// sequence is the length of the escape sequence that begins here.
func sequence(from []byte) int {
	if len(from) < 2 {
		return len(from)
	}
	switch from[1] {
	case '[': // ECMA-48's control sequences: parameters, then one byte of @ to ~
		for i := 2; i < len(from); i++ {
			if from[i] < 0x20 || from[i] > 0x3f {
				return i + 1
			}
		}
		return len(from)
	case ']': // titles of windows: until BEL or ESC \
		for i := 2; i < len(from); i++ {
			if from[i] == '\a' {
				return i + 1
			}
			if from[i] == escape {
				return i + min(2, len(from)-i)
			}
		}
		return len(from)
	}
	return 2
}

// origin is who wrote a line, from what srun --label, mpirun and torchrun put before it.
type origin struct {
	prefix    int // its length in bytes
	task      int // srun's label or mpirun's rank; NoRank if there is none
	rank      int // of PyTorch's "[rank3]:"; NoRank
	localRank int // of torchrun's "[default3]:"; NoRank
}

// originOf reads the prefixes of a line: "3: ", "[1,3]<stdout>:", "[rank3]:" and "[default3]:", also several of them.
func originOf(line []byte) origin {
	o := origin{task: NoRank, rank: NoRank, localRank: NoRank}
	for range 3 {
		rest := line[o.prefix:]
		n, set, number := label(rest, &o)
		if n == 0 {
			break
		}
		*set = number
		o.prefix += n
	}
	return o
}

// label reads one prefix: its length, and which number it is. The length is 0 if there is none.
func label(rest []byte, o *origin) (n int, set *int, number int) {
	at := spaces(rest)
	if at < len(rest) && isDigit(rest[at]) && o.prefix == 0 {
		number, end := digits(rest, at)
		if end-at <= 7 && bytes.HasPrefix(rest[end:], []byte(": ")) {
			return end + 2, &o.task, number
		}
		if end-at <= 7 && end+1 == len(rest) && rest[end] == ':' {
			return end + 1, &o.task, number
		}
		return 0, nil, 0
	}
	if len(rest) < 4 || rest[0] != '[' {
		return 0, nil, 0
	}
	if isDigit(rest[1]) {
		return mpirunLabel(rest, o)
	}
	end := 1
	for end < len(rest) && end < 40 && isLetter(rest[end]) {
		end++
	}
	name := rest[1:end]
	number, stop := digits(rest, end)
	if end == 1 || stop == end || stop-end > 7 || !bytes.HasPrefix(rest[stop:], []byte("]:")) {
		return 0, nil, 0
	}
	n = stop + 2
	if n < len(rest) && rest[n] == ' ' {
		n++
	}
	if string(name) == "rank" {
		return n, &o.rank, number
	}
	return n, &o.localRank, number
}

// mpirunLabel reads "[1,3]<stdout>:" of mpirun --tag-output: the job and the rank in it.
func mpirunLabel(rest []byte, o *origin) (n int, set *int, number int) {
	_, at := digits(rest, 1)
	if at >= len(rest) || rest[at] != ',' {
		return 0, nil, 0
	}
	number, end := digits(rest, at+1)
	if end == at+1 || end-at > 8 {
		return 0, nil, 0
	}
	for _, stream := range []string{"]<stdout>:", "]<stderr>:", "]<stddiag>:"} {
		if bytes.HasPrefix(rest[end:], []byte(stream)) {
			n = end + len(stream)
			if n < len(rest) && rest[n] == ' ' && !bytes.HasPrefix(rest[n:], []byte("  ")) {
				n++
			}
			return n, &o.task, number
		}
	}
	return 0, nil, 0
}

// stamp is the time that stands near the beginning of a line: 2025-06-17 16:24:52, with a T or an underscore between, or
// slashes in the date, which may end with the year, and with parts of a second behind a dot or a comma.
func stamp(line []byte) time.Time {
	const near, length = 96, len("2025-06-17 16:24:52")
	for at := 0; at+length <= len(line) && at <= near; at++ {
		b := line[at : at+length]
		if b[13] != ':' || b[16] != ':' || at > 0 && isDigit(line[at-1]) {
			continue
		}
		var year, month, day int
		switch {
		case b[0] == '2' && b[1] == '0' && b[4] == '-' && b[7] == '-' && (b[10] == ' ' || b[10] == 'T' || b[10] == '_'),
			b[0] == '2' && b[1] == '0' && b[4] == '/' && b[7] == '/' && b[10] == ' ':
			year, month, day = 0, 5, 8
		case b[2] == '/' && b[5] == '/' && b[6] == '2' && b[7] == '0' && b[10] == ' ': // 12/25/2024, of nanotron
			year, month, day = 6, 0, 3
		default:
			continue
		}
		if t, ok := dateOf(b, year, month, day); ok {
			return t.Add(fraction(line[at+length:]))
		}
	}
	return time.Time{}
}

// dateOf reads a date whose parts stand at these places, with a time of day behind it.
func dateOf(text []byte, year, month, day int) (time.Time, bool) {
	var field [6]int
	for i, at := range [...]int{year, month, day, 11, 14, 17} {
		width := 2
		if i == 0 {
			width = 4
		}
		n, end := digits(text[:at+width], at)
		if end != at+width {
			return time.Time{}, false
		}
		field[i] = n
	}
	t := time.Date(field[0], time.Month(field[1]), field[2], field[3], field[4], field[5], 0, time.UTC)
	return t, int(t.Month()) == field[1] && t.Day() == field[2] && t.Hour() == field[3] && t.Minute() == field[4] && t.Second() == field[5]
}

func fraction(rest []byte) time.Duration {
	if len(rest) < 2 || rest[0] != '.' && rest[0] != ',' {
		return 0
	}
	d, unit := time.Duration(0), time.Second
	for _, b := range rest[1:min(len(rest), 10)] {
		if !isDigit(b) {
			break
		}
		unit /= 10
		d += time.Duration(b-'0') * unit
	}
	return d
}

// mostText is the most of a line that a sign holds, in bytes.
const mostText = 400

// clip makes a line a text for people: no control characters, valid, and not too long.
func clip(line []byte) string {
	cut := line[:min(len(line), mostText)]
	if len(cut) < len(line) {
		for i := 0; i < utf8.UTFMax && !utf8.RuneStart(line[len(cut)]); i++ {
			cut = cut[:len(cut)-1]
		}
	}
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(cut), "\ufffd"))
	if text = strings.TrimSpace(text); len(cut) < len(line) {
		text += " ..."
	}
	return text
}
