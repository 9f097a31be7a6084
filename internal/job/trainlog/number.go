package trainlog

import (
	"bytes"
	"math"
	"strconv"
)

func isDigit(b byte) bool  { return '0' <= b && b <= '9' }
func isLetter(b byte) bool { return 'a' <= b|0x20 && b|0x20 <= 'z' || b == '_' }

func spaces(text []byte) int {
	n := 0
	for n < len(text) && (text[n] == ' ' || text[n] == '\t') {
		n++
	}
	return n
}

// digits reads the digits from here on: their number, and where they end. Of more than 18 the number is not used.
func digits(text []byte, at int) (number, end int) {
	for end = at; end < len(text) && isDigit(text[end]); end++ {
		if end-at < 18 {
			number = number*10 + int(text[end]-'0')
		}
	}
	return number, end
}

// whole reads a number that counts something, of at most 12 digits: the number and its length, 0 if there is none.
func whole(text []byte) (int64, int) {
	number, end := digits(text, 0)
	if end > 12 {
		return 0, 0
	}
	return int64(number), end
}

// numberAt reads a number: 1.638E-08, -3, 7,034, nan, inf, NaN, Infinity. Its length is 0 if there is none; commas stand
// between thousands if they are wanted.
func numberAt(text []byte, commas bool) (Value, int) {
	n := 0
	if n < len(text) && (text[n] == '-' || text[n] == '+') {
		n++
	}
	if special, length := notFinite(text[n:]); length > 0 {
		if text[0] == '-' {
			special = -special
		}
		return Some(special), n + length
	}
	if n == len(text) || !isDigit(text[n]) {
		return Value{}, 0
	}
	comma := false
	for n < len(text) && numeric(text, n, commas, &comma) {
		n++
	}
	token := text[:n]
	if comma {
		token = bytes.ReplaceAll(token, []byte(","), nil)
	}
	f, err := strconv.ParseFloat(string(token), 64)
	if err != nil {
		return Value{}, 0
	}
	return Some(f), n
}

// numeric says whether this byte belongs to a number: a sign does behind an exponent alone.
func numeric(text []byte, at int, commas bool, comma *bool) bool {
	switch b := text[at]; b {
	case '.', 'e', 'E':
		return true
	case '+', '-':
		return at > 0 && text[at-1]|0x20 == 'e'
	case ',':
		if !commas || at+3 >= len(text) {
			return false
		}
		_, end := digits(text[:at+4], at+1)
		*comma = *comma || end == at+4
		return end == at+4
	default:
		return isDigit(b)
	}
}

// over is the value in another unit.
func (v Value) over(f float64) Value {
	v.Float /= f
	return v
}

func notFinite(text []byte) (float64, int) {
	for _, word := range [...]string{"infinity", "inf", "nan"} {
		if len(text) >= len(word) && foldEqual(text[:len(word)], word) {
			if word == "nan" {
				return math.NaN(), len(word)
			}
			return math.Inf(1), len(word)
		}
	}
	return 0, 0
}

func foldEqual(text []byte, lower string) bool {
	for i := range lower {
		if text[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}

// valueOf reads the number behind the first place where key stands.
func valueOf(line []byte, key string, commas bool) Value {
	at := bytes.Index(line, []byte(key))
	if at < 0 {
		return Value{}
	}
	rest := line[at+len(key):]
	v, _ := numberAt(rest[spaces(rest):], commas)
	return v
}
