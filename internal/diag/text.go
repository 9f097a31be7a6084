package diag

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// clipCells is how much of a source line is shown.
	clipCells = 120
	// clipBytes bounds messages and hints, which may quote the user's values.
	clipBytes = 2000
	tabWidth  = 4
)

// WriteText writes the problems for a terminal, in the order of All:
//
//	cluster.yaml:7:3: error: "Instancetype" is not a key of HeadNode [schema/unknown]
//	    Instancetype: c6i.4xlarge
//	    ^
//	  hint: did you mean InstanceType?
//
// Nothing in the files can reach the terminal as a control sequence.
func WriteText(w io.Writer, l *List, color bool) error {
	out := bufio.NewWriter(w)
	for _, d := range l.All() {
		writeOne(out, d, palette(color))
	}
	return out.Flush()
}

// paint maps a role to its escape sequence; missing roles have none.
type paint map[string]string

func palette(color bool) paint {
	if !color {
		return nil
	}
	return paint{
		"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "info": "\x1b[1;36m", "blind": "\x1b[1;35m",
		"place": "\x1b[1m", "caret": "\x1b[1;32m", "code": "\x1b[2m",
	}
}

func (p paint) on(role, text string) string {
	if p[role] == "" {
		return text
	}
	return p[role] + text + "\x1b[0m"
}

func writeOne(w io.Writer, d Diagnostic, p paint) {
	if place := position(d.Place); place != "" {
		fmt.Fprintf(w, "%s ", p.on("place", place+":"))
	}
	fmt.Fprintf(w, "%s %s", p.on(d.Severity.String(), d.Severity.String()+":"), plain(d.Message))
	if d.Code != "" {
		fmt.Fprintf(w, " %s", p.on("code", "["+plain(d.Code)+"]"))
	}
	fmt.Fprintln(w)
	// What is only worth knowing is kept short.
	if line, caret := excerpt(d.Source, d.Column); line != "" && d.Severity != Info {
		fmt.Fprintf(w, "    %s\n", line)
		if caret >= 0 {
			fmt.Fprintf(w, "    %s%s\n", strings.Repeat(" ", caret), p.on("caret", "^"))
		}
	}
	if d.Hint != "" {
		fmt.Fprintf(w, "  hint: %s\n", plain(d.Hint))
	}
}

func headline(d Diagnostic) string {
	if place := position(d.Place); place != "" {
		return place + ": " + plain(d.Message)
	}
	return plain(d.Message)
}

func position(p Place) string {
	s := plain(p.File)
	if p.Line == 0 {
		return s
	}
	if s != "" {
		s += ":"
	}
	s += fmt.Sprint(p.Line)
	if p.Column != 0 {
		s += fmt.Sprintf(":%d", p.Column)
	}
	return s
}

// plain makes text safe for a terminal: one line, no control characters, valid
// UTF-8, not endless.
func plain(s string) string {
	cut := len(s) > clipBytes
	if cut {
		s = s[:clipBytes]
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		b.WriteString(visible(r, s[:size]))
		s = s[size:]
	}
	if cut {
		b.WriteString("…")
	}
	return b.String()
}

// visible is a character as it may be shown: itself, or its escape.
func visible(r rune, raw string) string {
	switch {
	case r == utf8.RuneError && len(raw) == 1:
		return fmt.Sprintf(`\x%02x`, raw[0])
	case r == '\t':
		return `\t`
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case unicode.IsControl(r) && r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r == ' ' || unicode.IsGraphic(r) && !unicode.Is(unicode.Cf, r):
		return raw
	default:
		return fmt.Sprintf(`\u%04x`, r)
	}
}

// excerpt is the part of a source line around a column, safe for a terminal,
// and the cell below which the caret stands (-1 without a column).
func excerpt(source string, column int) (string, int) {
	source = strings.TrimRight(source, "\r\n")
	if strings.TrimSpace(source) == "" {
		return "", -1
	}
	source, column, before := window(source, column)
	var b strings.Builder
	width, caret := 0, -1
	if before {
		b.WriteString("…")
		width++
	}
	for n := 1; ; n++ {
		if n == column {
			caret = width
		}
		if source == "" {
			break
		}
		if width >= clipCells || n > 4*clipCells {
			b.WriteString("…")
			break
		}
		r, size := utf8.DecodeRuneInString(source)
		text, w := cells(r, source[:size], width)
		b.WriteString(text)
		width += w
		source = source[size:]
	}
	return strings.TrimRight(b.String(), " "), caret
}

// window drops the start of a line whose column would be out of sight. The
// column comes back relative to what is left.
func window(source string, column int) (rest string, col int, cut bool) {
	const lead = clipCells / 2
	if column <= clipCells {
		return source, column, false
	}
	drop := column - lead
	for i := range drop {
		if source == "" {
			return "", column - i, true
		}
		_, size := utf8.DecodeRuneInString(source)
		source = source[size:]
	}
	return source, column - drop, true
}

// cells is a character as shown at a cell, and the cells that it takes.
func cells(r rune, raw string, at int) (string, int) {
	if r == '\t' {
		n := tabWidth - at%tabWidth
		return strings.Repeat(" ", n), n
	}
	text := visible(r, raw)
	switch {
	case text != raw:
		return text, len(text)
	case unicode.In(r, unicode.Mn, unicode.Me):
		return text, 0
	case wide(r):
		return text, 2
	default:
		return text, 1
	}
}

// wide reports whether terminals give a character two cells (East Asian Wide
// and Fullwidth, emoji; https://www.unicode.org/reports/tr11/).
func wide(r rune) bool {
	switch {
	case r < 0x1100:
		return false
	case r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf && r != 0x303f, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60,
		r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return true
	default:
		return false
	}
}
