package page

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestGuard(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"plain":          {"Batch 1\tLoss\r\nnaïve █▍ 漢字 👩‍🚀\n", "Batch 1\tLoss\r\nnaïve █▍ 漢字 👩‍🚀\n"},
		"colours":        {"\x1b[32mgreen\x1b[0m \x1b[38;5;12;1mbold\x1b[m", "\x1b[32mgreen\x1b[0m \x1b[38;5;12;1mbold\x1b[m"},
		"title":          {"\x1b]0;you are root\x07", `\x1b]0;you are root\a`},
		"clipboard":      {"\x1b]52;c;cm0gLXJm\x1b\\", `\x1b]52;c;cm0gLXJm\x1b\`},
		"cursor":         {"\x1b[2J\x1b[1A", `\x1b[2J\x1b[1A`},
		"asks":           {"\x1b[6n\x1b[>c", `\x1b[6n\x1b[>c`},
		"bell":           {"\a\b\x7f\x00", `\a\b\x7f\x00`},
		"eight_bits":     {"\x9b2J \u009b2J", `\x9b2J \u009b2J`},
		"another_order":  {"a\u202eb\u2066", `a\u202eb\u2066`},
		"ends_in_colour": {"a\x1b[3", `a\x1b[3`},
		"ends_in_rune":   {"a\xe2\x96", `a\xe2\x96`},
		"no_colour":      {"\x1b[" + strings.Repeat("1;", 100) + "m", `\x1b[` + strings.Repeat("1;", 100) + "m"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{1, 2, 3, 1000} {
				if got := guarded(t, c.text, size); got != c.want {
					t.Errorf("in pieces of %d: %q instead of %q", size, got, c.want)
				}
			}
		})
	}
}

// guarded is what a terminal gets of a text that comes in pieces.
func guarded(t *testing.T, text string, size int) string {
	t.Helper()
	var out bytes.Buffer
	g := &Guard{to: &out}
	for len(text) > 0 {
		n := min(size, len(text))
		if m, err := g.Write([]byte(text[:n])); m != n || err != nil {
			t.Fatal(m, err)
		}
		text = text[n:]
	}
	if err := g.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// What is no terminal gets each byte at once.
func TestGuardedPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	const text = "a\x1b]0;x\x07\x9b\xe2\x96"
	for _, to := range []io.Writer{w, &bytes.Buffer{}} {
		if _, err := Guarded(to).Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if b, ok := to.(*bytes.Buffer); ok && b.String() != text {
			t.Errorf("%q", b)
		}
	}
	w.Close()
	if got, err := io.ReadAll(r); string(got) != text || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// FuzzGuard is its law: a terminal gets nothing that it obeys but colours, and the same however the text is cut.
func FuzzGuard(f *testing.F) {
	f.Add([]byte("a\x1b[31mb\x1b]0;x\a\u009b\x9b█"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got := guarded(t, string(text), 1000)
		if again := guarded(t, string(text), 1); again != got {
			t.Errorf("%q or %q", got, again)
		}
		left := colourAnywhere(got)
		for _, r := range left {
			if obeyed(r) && r != '\t' && r != '\n' && r != '\r' {
				t.Errorf("%q has %q", got, r)
			}
		}
		if !utf8.ValidString(got) {
			t.Errorf("%q", got)
		}
	})
}

// colourAnywhere is a text without its colours.
func colourAnywhere(text string) string {
	for {
		at := strings.Index(text, "\x1b[")
		if at < 0 {
			return text
		}
		m := colour.FindString(text[at:])
		if m == "" {
			return text
		}
		text = text[:at] + text[at+len(m):]
	}
}
