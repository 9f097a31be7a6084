// Package page writes what people read: tables and lines, fitted to the width of their
// terminal, in which nothing that came from elsewhere acts on it.
package page

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Printable makes a text that came from a file, a user or a program one line
// that does nothing to a terminal.
func Printable(text string) string {
	for _, r := range text {
		if !strconv.IsPrint(r) || r == '\uFFFD' {
			quoted := strconv.Quote(text)
			return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
		}
	}
	return text
}

// PrintableLines makes each line of a text printable, and leaves its tabs.
func PrintableLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		for i, part := range strings.Split(strings.TrimRight(line, "\r\n"), "\t") {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(Printable(part))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Table is rows of cells in columns. The first row is the head.
type Table [][]string

// Add adds a row.
func (t *Table) Add(cells ...string) { *t = append(*t, cells) }

// Write writes the table, fitted to w.
func (t Table) Write(w io.Writer) error {
	_, err := io.WriteString(w, t.text(Columns(w)))
	return err
}

// text is the table in lines of at most so many characters, 0 for any.
func (t Table) text(limit int) string {
	shown := make(Table, 0, len(t))
	for _, row := range t {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = Printable(cell)
		}
		shown = append(shown, cells)
	}
	widths := squeeze(shown.widths(limit, utf8.RuneCountInString), shown.widths(limit, longest), limit)
	if limit > 0 && total(widths) > limit && len(widths) > 2 {
		return shown.stacked(limit)
	}
	var b strings.Builder
	for _, cells := range shown {
		if limit > 0 && len(cells) == 1 && len(widths) > 1 {
			b.WriteString(strings.Join(fit(cells[0], limit), "\n") + "\n")
			continue
		}
		b.WriteString(row(widths, cells))
	}
	return b.String()
}

// stacked is a table that has too many columns: each row in lines of its own.
func (t Table) stacked(limit int) string {
	var lines []string
	for n, cells := range t {
		lines = append(lines, fit(cells[0], limit)...)
		for i, cell := range cells[1:] {
			if n > 0 && cell != "" && cell != "-" {
				lines = append(lines, fit("    "+t[0][i+1]+": "+strings.TrimSpace(cell), limit)...)
			}
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// widths are the most of each column, as of measures a cell. Where there is a limit, a
// cell that is alone in its row is a line of its own.
func (t Table) widths(limit int, of func(string) int) []int {
	var widths []int
	for _, row := range t {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if limit == 0 || len(row) > 1 || i == 0 && t.single() {
				widths[i] = max(widths[i], of(cell))
			}
		}
	}
	return widths
}

// single tells whether the table has one column.
func (t Table) single() bool {
	return !slices.ContainsFunc(t, func(row []string) bool { return len(row) > 1 })
}

// AlignRight pads the cells from a column on, so that figures stand below each other.
func (t Table) AlignRight(from int) {
	for column := from; column < len(t[0]); column++ {
		width := 0
		for _, row := range t {
			width = max(width, utf8.RuneCountInString(row[column]))
		}
		for _, row := range t {
			row[column] = strings.Repeat(" ", width-utf8.RuneCountInString(row[column])) + row[column]
		}
	}
}

// AddList adds lines below one heading.
func (t *Table) AddList(heading string, lines []string) {
	for i, line := range lines {
		if i > 0 {
			heading = ""
		}
		t.Add(heading, line)
	}
}

// OrDash is a cell, or a dash where it is empty.
func OrDash(text string) string { return cmp.Or(text, "-") }

// Section is a table, and lines below it.
type Section struct {
	Table
	Lines []string
}

// Write writes the table and the lines, fitted to w.
func (s Section) Write(w io.Writer) error {
	if err := s.Table.Write(w); err != nil {
		return err
	}
	for _, text := range s.Lines {
		if err := Line(w, "  "+Printable(text)); err != nil {
			return err
		}
	}
	return nil
}
