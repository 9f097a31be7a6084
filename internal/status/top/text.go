package top

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/muster-hpc/muster/internal/say/page"
)

// paint is how a part of a line looks. Only what every terminal has, on its own colours:
// light and dark ones show it alike. What it means is said in words, too.
type paint string

const (
	plain  paint = ""
	strong paint = "1"
	faint  paint = "2"
	alarm  paint = "1;31"
	chosen paint = "7"
)

// part is a piece of a line, in which nothing acts on a terminal.
type part struct {
	text  string
	paint paint
}

// line is one line of a frame.
type line []part

func of(p paint, format string, args ...any) line { return line{{fmt.Sprintf(format, args...), p}} }

// write is the line in at most so many cells of a terminal.
func (l line) write(width int, colour bool) string {
	var b strings.Builder
	for _, p := range l {
		text := ansi.Truncate(p.text, width, "")
		width -= ansi.StringWidth(text)
		if colour && p.paint != plain && text != "" {
			text = "\x1b[" + string(p.paint) + "m" + text + "\x1b[m"
		}
		b.WriteString(text)
	}
	return strings.TrimRight(b.String(), " ")
}

// pad fills a text up with blanks, or cuts it and says so.
func (s Screen) pad(text string, width int) string {
	if over := ansi.StringWidth(text) - width; over > 0 {
		return s.cut(text, width)
	} else if over < 0 {
		return text + strings.Repeat(" ", -over)
	}
	return text
}

// padLeft is pad for figures, which stand below each other.
func (s Screen) padLeft(text string, width int) string {
	return strings.Repeat(" ", max(0, width-ansi.StringWidth(text))) + s.cut(text, width)
}

// cut makes a text no wider.
func (s Screen) cut(text string, width int) string {
	if ansi.StringWidth(text) <= width {
		return text
	}
	more := "…"
	if !s.Unicode {
		more = "~"
	}
	short := ansi.Truncate(text, width, more)
	return short + strings.Repeat(" ", max(0, width-ansi.StringWidth(short)))
}

// printable is a text of users, files or programs that does nothing to a terminal, in the
// signs that this one has.
func (s Screen) printable(text string) string {
	text = page.Printable(strings.ReplaceAll(text, "\t", "    "))
	if s.Unicode {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if r < ' ' || r > '~' {
			r = '?'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// span is a length of time in few signs.
func span(d time.Duration) string {
	d = max(0, d)
	m, h := int(d.Minutes()), int(d.Hours())
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", m)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", h, m%60)
	}
	return fmt.Sprintf("%dd%02dh", h/24, h%24)
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// figure is a number in few signs; "" where there is none.
func figure(v *float64) string {
	if v == nil {
		return ""
	}
	return number(*v)
}

func number(n float64) string {
	size := math.Abs(n)
	switch {
	case size >= 1e15:
		return strconv.FormatFloat(n, 'g', 3, 64)
	case size >= 1e7:
		return strconv.FormatFloat(n/1e6, 'f', 1, 64) + "M"
	case size >= 1e4:
		return strconv.FormatFloat(n/1e3, 'f', 1, 64) + "k"
	case size >= 1000 || n == math.Trunc(n) && size < 1000:
		return strconv.FormatFloat(n, 'f', 0, 64)
	}
	return strconv.FormatFloat(n, 'g', 4, 64)
}
