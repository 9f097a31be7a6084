package page

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// This file fits what people read to the width of their terminal: cells and lines are
// broken, never cut. What goes elsewhere is left as it is, unless COLUMNS says how wide
// it may be.

// Columns is how wide a line may be, 0 for any width.
func Columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n
	}
	if n, _, err := term.GetSize(int(f.Fd())); err == nil {
		return n
	}
	return 0
}

// Gap stands between two columns. leastColumn is as narrow as a column gets, and
// longWord the longest word that is kept whole while others can give way.
const (
	Gap         = "  "
	leastColumn = 8
	longWord    = 20
)

// squeeze makes columns narrower, the widest first, until a row has at most so many
// characters, or no column can be narrower: first down to their longest words, then
// further.
func squeeze(widths, words []int, limit int) []int {
	got := slices.Clone(widths)
	excess := total(widths) - limit
	if limit == 0 {
		return got
	}
	for _, least := range []func(i int) int{
		func(i int) int { return max(leastColumn, min(words[i], longWord)) },
		func(int) int { return leastColumn },
	} {
		for ; excess > 0; excess-- {
			widest := -1
			for i, w := range got {
				if w > least(i) && (widest < 0 || w >= got[widest]) { // of equal ones the last: what comes first is a name
					widest = i
				}
			}
			if widest < 0 {
				break
			}
			got[widest]--
		}
	}
	return got
}

// total is how long a row is.
func total(widths []int) int {
	sum := len(Gap) * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	return sum
}

// longest is the length of a text's longest word.
func longest(text string) int {
	most := 0
	for word := range strings.FieldsSeq(text) {
		most = max(most, utf8.RuneCountInString(word))
	}
	return most
}

// fit breaks a text into lines of at most so many characters, those that follow as far
// from the edge as the first.
func fit(text string, width int) []string {
	runes := []rune(text)
	if width <= 0 || len(runes) <= width {
		return []string{text}
	}
	indent := len(runes) - len([]rune(strings.TrimLeft(text, " ")))
	if rest := string(runes[indent:]); strings.HasPrefix(rest, "- ") {
		indent += 2
	}
	if indent > width/2 {
		indent = 0
	}
	at := breakAt(runes, indent, width)
	line := strings.TrimRight(string(runes[:at]), " ")
	rest := strings.TrimLeft(string(runes[at:]), " ")
	if rest == "" {
		return []string{line}
	}
	return append([]string{line}, fit(strings.Repeat(" ", indent)+rest, width)...)
}

// breakAt is where a line ends: at the last space that leaves half of it or more, or
// else behind the last sign that parts a path or a list, or else where it must.
func breakAt(runes []rune, indent, width int) int {
	for at := width; at > max(indent, width/2); at-- {
		if runes[at] == ' ' {
			return at
		}
	}
	for at := width; at > max(indent+1, width/2); at-- {
		sign := runes[at-1]
		if strings.ContainsRune(",/;&=", sign) || sign == '-' && !strings.ContainsRune(" -", runes[at-2]) {
			return at
		}
	}
	return width
}

// Row is a line of a table whose columns have these widths, made narrower for a limit as
// those of a table are; words are the columns' longest words.
func Row(widths, words []int, limit int, cells []string) string {
	return row(squeeze(widths, words, limit), cells)
}

// row is a line of a table, or several where cells are broken.
func row(widths []int, cells []string) string {
	parts := make([][]string, len(cells))
	height := 1
	for i, cell := range cells {
		parts[i] = []string{cell}
		if len([]rune(cell)) > widths[i] {
			parts[i] = fit(cell, widths[i])
		}
		height = max(height, len(parts[i]))
	}
	var b strings.Builder
	for n := range height {
		line := ""
		for i, part := range parts {
			text := ""
			if n < len(part) {
				text = part[n]
			}
			line += fmt.Sprintf("%-*s", widths[i], text) + Gap
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// Line writes a line for people, broken where it is too long for w.
func Line(w io.Writer, text string) error {
	_, err := io.WriteString(w, strings.Join(fit(text, Columns(w)), "\n")+"\n")
	return err
}

// Short is the beginning of a text that is replaced by another one on its line.
func Short(w io.Writer, text string) string {
	runes := []rune(text)
	if limit := Columns(w) - 1; limit > 0 && len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}
