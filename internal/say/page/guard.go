package page

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strconv"
	"unicode/utf8"

	"golang.org/x/term"
)

// Guard passes on what a program of somebody else's wrote. A terminal gets tabs, ends of lines and colours as they are, and all
// else that it would obey as visible text; everything that is no terminal gets each byte. It is for one goroutine at a time.
type Guard struct {
	to io.Writer
	// raw says that nothing is changed.
	raw bool
	// held is the beginning of a character or of a colour whose end has not come yet.
	held []byte
}

// Guarded is a guard before w.
func Guarded(w io.Writer) *Guard {
	file, ok := w.(*os.File)
	return &Guard{to: w, raw: !ok || !term.IsTerminal(int(file.Fd()))}
}

// colour is a sequence that sets colours or a style, mostColour how long one is at the most that is waited for.
var colour = regexp.MustCompile(`^\x1b\[[0-9;:]*m`)

const mostColour = 64

// Write implements io.Writer.
func (g *Guard) Write(p []byte) (int, error) {
	if g.raw {
		return g.to.Write(p)
	}
	text := append(g.held, p...)
	var out bytes.Buffer
	out.Grow(len(text))
	n := guard(&out, text, false)
	g.held = append([]byte(nil), text[n:]...)
	if _, err := g.to.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush writes what waits for an end that does not come.
func (g *Guard) Flush() error {
	if len(g.held) == 0 {
		return nil
	}
	var out bytes.Buffer
	guard(&out, g.held, true)
	g.held = nil
	_, err := g.to.Write(out.Bytes())
	return err
}

// guard writes a text as a terminal may have it, and says how much of it that is: what may go on is left, unless it is the last.
func guard(out *bytes.Buffer, text []byte, last bool) int {
	for i := 0; i < len(text); {
		rest := text[i:]
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == '\t', r == '\n', r == '\r', r >= ' ' && r < 0x7f:
			out.WriteByte(byte(r))
		case r == 0x1b && colour.Match(rest[:min(len(rest), mostColour)]):
			size = len(colour.Find(rest))
			out.Write(rest[:size])
		case r == 0x1b && !last && unfinished(rest), r == utf8.RuneError && size == 1 && !last && !utf8.FullRune(rest):
			return i
		case r == utf8.RuneError && size == 1:
			out.WriteString(`\x` + strconv.FormatUint(0x100|uint64(rest[0]), 16)[1:])
		case obeyed(r):
			quoted := strconv.QuoteRuneToASCII(r)
			out.WriteString(quoted[1 : len(quoted)-1])
		default:
			out.Write(rest[:size])
		}
		i += size
	}
	return len(text)
}

// unfinished says that a colour may begin here, of which more is to come.
func unfinished(text []byte) bool {
	if len(text) >= mostColour || len(text) > 1 && text[1] != '[' {
		return false
	}
	return len(text) < 2 || len(bytes.Trim(text[2:], "0123456789;:")) == 0
}

// obeyed says that terminals do something for a character, or show what stands around it in another order.
func obeyed(r rune) bool {
	return r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
