package meter

import (
	"bytes"
	"encoding/json"
	"errors"
)

// mendLimit is how many commas are set where a program forgot them, nestLimit how deep brackets may be in each other.
const (
	mendLimit = 20
	nestLimit = 1000
)

// document is the first JSON object of an output that begins a line and holds the mark, without what programs print before and behind it.
// It has no end where the output has none.
func document(text []byte, mark string) ([]byte, bool) {
	text = text[:min(len(text), Limit)]
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	for from := 0; from < len(text); {
		rest := text[from:]
		body := bytes.TrimLeft(rest, " \t\r\n")
		if len(body) > 0 && body[0] == '{' {
			if !bytes.Contains(body, []byte(mark)) {
				break
			}
			end, _ := scan(body)
			return body[:end], true
		}
		i := bytes.IndexByte(rest[len(rest)-len(body):], '\n')
		if i < 0 {
			break
		}
		from += len(rest) - len(body) + i + 1
	}
	return nil, false
}

// decode reads JSON, and of a text that is cut off or broken what is before that. A comma that is missing between two values, as in what
// NCCL 2.28.7 to 2.30.6 print, is set.
func (r *Reading) decode(text []byte, to any) {
	err := json.Unmarshal(text, to)
	if err == nil {
		return
	}
	r.lack("the JSON is broken: %v", err)
	for range mendLimit {
		at, ok := comma(text, err)
		if !ok {
			break
		}
		text = append(append(bytes.Clone(text[:at]), ','), text[at:]...)
		if err = json.Unmarshal(text, to); err == nil {
			return
		}
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		end := min(max(int(syntax.Offset)-1, 0), len(text))
		if syntax.Offset >= int64(len(text)) {
			end = len(text)
		}
		_, closed := scan(text[:end])
		err = json.Unmarshal(closed, to)
	}
	if _, wrong := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !wrong {
		r.lack("nothing of it can be read")
	}
}

// comma is where an error says that a value begins which no comma parts from the one before.
func comma(text []byte, err error) (at int, ok bool) {
	syntax, is := errors.AsType[*json.SyntaxError](err)
	if !is || syntax.Offset < 2 || syntax.Offset > int64(len(text)) {
		return 0, false
	}
	at = int(syntax.Offset) - 1
	before := bytes.TrimRight(text[:at], " \t\r\n")
	return at, len(before) > 0 && bytes.IndexByte([]byte(`{["`), text[at]) >= 0 && bytes.IndexByte([]byte(`}]"0123456789le`), before[len(before)-1]) >= 0
}

// scan follows the brackets of a JSON value. end is where the value ends, the text's end if it does not; closed is the text up to the
// last value in it that is whole, with the brackets that are missing behind that.
func scan(text []byte) (end int, closed []byte) {
	var open, safeOpen []byte
	safe, quoted := 0, false
	mark := func(at int) { safe, safeOpen = at, append(safeOpen[:0], open...) }
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if len(open) == nestLimit {
				return len(text), finish(text[:safe], safeOpen)
			}
			open = append(open, c+2) // the closing one is two further in ASCII
			if i == 0 {
				mark(1)
			}
		case c == ',':
			mark(i)
		case c == '}' || c == ']':
			if len(open) == 0 || open[len(open)-1] != c {
				return i, finish(text[:safe], safeOpen)
			}
			open = open[:len(open)-1]
			mark(i + 1)
			if len(open) == 0 {
				return i + 1, text[:i+1]
			}
		}
	}
	return len(text), finish(text[:safe], safeOpen)
}

// finish closes brackets, the innermost first.
func finish(text, open []byte) []byte {
	out := bytes.Clone(text)
	for i := len(open) - 1; i >= 0; i-- {
		out = append(out, open[i])
	}
	return out
}
