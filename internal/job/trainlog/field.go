package trainlog

import (
	"bytes"
	"math"
)

// field is a number in a line, with the text around it.
type field struct {
	key   []byte // the text since the separator or the number before
	value []byte
	total []byte // m of "n/m"
	after []byte // the rest of the line
	open  byte   // the character before the number, blanks aside; 0 at the beginning of a line
	shut  byte   // the character behind it
	name  name
}

// mostFields is how many numbers of a line are looked at.
const mostFields = 128

// fields are the numbers of a line. It is used again for each line.
type fields struct {
	all    [mostFields]field
	n      int
	names  names
	eval   int // where the first word for an evaluation stands; -1 is nowhere
	line   []byte
	course [200]byte // a buffer
}

// scan splits a line into its numbers. Dates, times of day and versions are none.
func (f *fields) scan(line []byte) {
	f.n, f.eval, f.line = 0, -1, line
	start, behind, word, column := 0, -1, -1, -1
	for at := 0; at < len(line) && f.n < mostFields; {
		switch b := line[at]; {
		case isLetter(b):
			end := wordEnd(line, at)
			if _, n := notFinite(line[at:end]); n == end-at && at > start {
				f.add(start, at, end)
				start = end
			} else if f.eval < 0 && isEval(line[at:end]) {
				f.eval = at
			}
			word, at = at, end
		case isDigit(b) || (b == '-' || b == '+' || b == '.') && at+1 < len(line) && isDigit(line[at+1]) && !joined(line, at):
			end, number := numberEnd(line, at)
			if number {
				if column >= 0 && spaces(line[start:at]) == at-start && (end == len(line) || line[end] != '/') {
					start = column
				}
				end = f.add(start, at, end)
			}
			at, start, behind, column = end, end, end, -1
		case b == '|':
			column = -1
			if word >= start && (start != behind || line[start] == ':') { // what stands behind a number is its unit
				column = start // the name of the column behind: "loss | 6.0"
			}
			at++
			start = at
		case b == ',' || b == ';' || b == '{' || b == '}':
			at++
			start = at
		case b == '\t':
			at++
			if !f.opensValue(start, at-1) {
				start = at
			}
		case b == '-' && at > 0 && line[at-1] == ' ' && at+1 < len(line) && line[at+1] == ' ':
			at += 2
			start = at
		default:
			at++
		}
	}
}

// opensValue reports whether a name ends before a tab, and its number stands behind: "Loss:\t6.0".
func (f *fields) opensValue(start, tab int) bool {
	before := bytes.TrimRight(f.line[start:tab], " \t")
	return len(before) > 0 && (before[len(before)-1] == ':' || before[len(before)-1] == '=')
}

// joined reports whether a sign or a point stands right behind a word.
func joined(line []byte, at int) bool {
	return at > 0 && line[at] != '-' && (isLetter(line[at-1]) || isDigit(line[at-1]))
}

// add adds a number, and the m of "n/m" with it, and returns where they end.
func (f *fields) add(start, at, end int) int {
	one := &f.all[f.n]
	*one = field{key: f.line[start:at], value: f.line[at:end]}
	for i := at - 1; i >= 0; i-- {
		if f.line[i] != ' ' && f.line[i] != '\t' {
			one.open = f.line[i]
			break
		}
	}
	if total, after := totalOf(f.line, end); total != nil {
		one.total, end = total, after
	}
	one.after = f.line[end:]
	if n := spaces(one.after); n < len(one.after) {
		one.shut = one.after[n]
	}
	if f.n > 0 && len(one.key) > 0 && one.key[0] == ')' { // LR (group 0)=0.0003
		before := &f.all[f.n-1]
		if open := bytes.LastIndexByte(before.key, '('); open > 0 && before.total == nil && f.names.lookUp(before.key[:open]).role != noRole {
			one.key, before.name = before.key[:open], name{says: true}
		}
	}
	one.name = f.names.lookUp(one.key)
	f.n++
	return end
}

// totalOf reads the "/ 5005" of "1/ 5005".
func totalOf(line []byte, at int) (total []byte, end int) {
	at += spaces(line[at:])
	switch {
	case at < len(line) && line[at] == '/':
		at++
	case bytes.HasPrefix(line[at:], []byte("of ")):
		at += len("of ")
	default:
		return nil, 0
	}
	at += spaces(line[at:])
	end = at
	for end < len(line) && isDigit(line[end]) {
		end++
	}
	if end == at {
		return nil, 0
	}
	if more := thousandsOf(line, at, end); more == len(line) || line[more] != '/' { // [1/10,200/500] has two pairs
		end = more
	}
	if end < len(line) && (line[end] == '/' || line[end] == '.') {
		return nil, 0
	}
	return line[at:end], end
}

// wordEnd is where a word ends: train/loss, Acc@1, trainer.py.
func wordEnd(line []byte, at int) int {
	for at++; at < len(line); at++ {
		b := line[at]
		if isLetter(b) || isDigit(b) {
			continue
		}
		if (b == '/' || b == '.' || b == '@' || b == '-') && at+1 < len(line) && (isLetter(line[at+1]) || b != '-' && isDigit(line[at+1])) {
			continue
		}
		break
	}
	return at
}

// numberEnd is where a number ends, and whether it is one: 2024-01-01, 0:10:00, 1.2.3 and 0x7f are none.
func numberEnd(line []byte, at int) (end int, number bool) {
	end = at
	if line[end] == '-' || line[end] == '+' {
		end++
	}
	whole := end
	for end < len(line) && isDigit(line[end]) {
		end++
	}
	end = thousands(line, whole, end)
	if end < len(line) && line[end] == '.' {
		for end++; end < len(line) && isDigit(line[end]); end++ {
		}
	}
	end = exponent(line, end)
	if end >= len(line) {
		return end, true
	}
	next := end+1 < len(line) && isDigit(line[end+1])
	switch b := line[end]; {
	case b == '-' && next && bytes.HasPrefix(bytes.TrimLeft(line[end+1:], "0123456789"), []byte("batch")):
		return end + 1, false // espnet: 1-100batch
	case (b == '-' || b == ':' || b == '.' || b == '_' || b == '/' && (dateAt(line[end+1:]) || dayAt(line[end+1:]))) && next:
		for end < len(line) && (isDigit(line[end]) || bytes.IndexByte([]byte("-:._/TZ+"), line[end]) >= 0) {
			end++
		}
		return end, false
	case b == 'x' && next:
		return end + 1, false
	}
	return end, true
}

// dateAt reports whether what stands behind a slash is the rest of a date: "01/01" of 2024/01/01.
func dateAt(rest []byte) bool {
	_, end := digits(rest, 0)
	return end > 0 && end+1 < len(rest) && rest[end] == '/' && isDigit(rest[end+1])
}

// dayAt reports whether what stands behind a slash is the rest of a date without a year: "29 12:00:01" of 07/29 12:00:01.
func dayAt(rest []byte) bool {
	const form = "00 00:00:00"
	if len(rest) < len(form) {
		return false
	}
	for i := range len(form) {
		if form[i] == '0' && !isDigit(rest[i]) || form[i] != '0' && rest[i] != form[i] {
			return false
		}
	}
	return true
}

// thousands goes on over 12,345. Behind a bracket, commas stand between numbers, but in [1,000/100,000].
func thousands(line []byte, from, end int) int {
	more := thousandsOf(line, from, end)
	if from > 0 && line[from-1] == '[' && (more == len(line) || line[more] != '/') {
		return end
	}
	return more
}

func thousandsOf(line []byte, from, end int) int {
	if end-from > 3 {
		return end
	}
	for end+3 < len(line) && line[end] == ',' {
		_, stop := digits(line, end+1)
		if stop != end+4 {
			break
		}
		end = stop
	}
	return end
}

func exponent(line []byte, end int) int {
	if end+1 >= len(line) || line[end]|0x20 != 'e' {
		return end
	}
	at := end + 1
	if at+1 < len(line) && (line[at] == '-' || line[at] == '+') {
		at++
	}
	if !isDigit(line[at]) {
		return end
	}
	for at < len(line) && isDigit(line[at]) {
		at++
	}
	return at
}

// float is a field's number, in thousands, millions or billions where it says so.
func (f *field) float() Value {
	v, n := numberAt(f.value, true)
	if n != len(f.value) {
		return Value{}
	}
	if len(f.after) > 0 && (len(f.after) == 1 || !isLetter(f.after[1]) && f.after[1] != '/') {
		switch f.after[0] {
		case 'K', 'k':
			v.Float *= 1e3
		case 'M':
			v.Float *= 1e6
		case 'G', 'B':
			v.Float *= 1e9
		}
	}
	return v
}

// count is a field's number if it counts something.
func (f *field) count() (n, total int64, ok bool) {
	if !isDigit(f.value[0]) {
		return 0, 0, false
	}
	for _, b := range f.value {
		if !isDigit(b) && b != ',' {
			return f.countAsFloat()
		}
	}
	v := f.float()
	if !v.Known || v.Float >= 1e12 || len(f.after) > 0 && (f.after[0] == '%' || f.after[0] == '.') {
		return 0, 0, false
	}
	return int64(v.Float), f.totalCount(), true
}

// countAsFloat is the step of a program that writes it with a point: 1.00e+01, 10.0, 0.1k.
func (f *field) countAsFloat() (n, total int64, ok bool) {
	v := f.float()
	whole := math.Round(v.Float)
	if f.name.role != isStep || !v.Known || !(v.Float < 1e12) || math.Abs(v.Float-whole) > 1e-6*whole || len(f.after) > 0 && f.after[0] == '%' {
		return 0, 0, false
	}
	unit, _, _ := bytes.Cut(f.unit(), []byte(" "))
	switch string(unit) {
	case "s", "sec", "secs", "seconds", "ms", "us", "min", "h", "hours", "days":
		return 0, 0, false
	}
	return int64(whole), f.totalCount(), true
}

// totalCount is m of "n/m", 0 if there is none.
func (f *field) totalCount() int64 {
	total := int64(0)
	for _, b := range f.total {
		if isDigit(b) {
			total = total*10 + int64(b-'0')
		}
		if total >= 1e12 {
			return 0
		}
	}
	return total
}

// unit is what stands behind a number, up to the next separator: "ms", "tok/s", "% bf16 MFU".
func (f *field) unit() []byte {
	text := f.after[:min(len(f.after), 24)]
	for i, b := range text {
		switch {
		case b == ',' || b == '|' || b == ';' || b == '(' || b == ')' || b == ']' || b == '\t' || i > 1 && isDigit(b),
			b == '-' && i > 0 && text[i-1] == ' ':
			return bytes.TrimSpace(text[:i])
		case b == ':' || b == '=': // the word before is the next number's
			return bytes.TrimSpace(text[:max(0, bytes.LastIndexByte(text[:i], ' '))])
		}
	}
	return bytes.TrimSpace(text)
}
