package sheet

import (
	"strconv"
	"strings"
	"unicode"
)

// mostText is how many bytes of a text from outside are shown.
const mostText = 600

// line is a text from outside as one line of bounded size in which nothing acts on who reads it: control characters, and those
// that turn the direction of the text, are shown as Go would write them.
func line(text string) string {
	cut := len(text) > mostText
	if cut {
		text = text[:mostText]
	}
	text = printable(strings.ToValidUTF8(text, "\uFFFD"))
	if cut {
		text += "..."
	}
	return text
}

func printable(text string) string {
	if !strings.ContainsFunc(text, odd) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t':
			b.WriteByte(' ')
		case odd(r):
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func odd(r rune) bool { return !strconv.IsPrint(r) && r != '\uFFFD' }

// nameless is a text in which a place's name is NODE, so that what is said of many places is the same.
func nameless(text, on string) string {
	if len(on) < 3 || !strings.Contains(text, on) {
		return text
	}
	var b strings.Builder
	for rest := text; ; {
		at := strings.Index(rest, on)
		if at < 0 {
			b.WriteString(rest)
			return b.String()
		}
		b.WriteString(rest[:at])
		before, after := b.String(), rest[at+len(on):]
		if wordEnd(before) || wordStart(after) {
			b.WriteString(on)
		} else {
			b.WriteString("NODE")
		}
		rest = after
	}
}

// wordEnd and wordStart say that a name goes on there.
func wordEnd(text string) bool   { return text != "" && wordly(rune(text[len(text)-1])) }
func wordStart(text string) bool { return text != "" && wordly(rune(text[0])) }

func wordly(r rune) bool { return r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// withoutNumbers is a text in which a number is #: texts that differ in what was measured alone are the same.
func withoutNumbers(text string) string {
	var b strings.Builder
	last := false
	for _, r := range text {
		number := unicode.IsDigit(r) || last && r == '.'
		if number && !last {
			b.WriteByte('#')
		}
		if !number {
			b.WriteRune(r)
		}
		last = number
	}
	return b.String()
}
