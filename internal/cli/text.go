package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// writeJSON writes the answer as JSON.
func (a *app) writeJSON(v any) error {
	out := json.NewEncoder(a.out)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(v)
}

// printable makes a text that came from a file, a user or a program one line
// that does nothing to a terminal.
func printable(text string) string {
	for _, r := range text {
		if !strconv.IsPrint(r) || r == '\uFFFD' {
			quoted := strconv.Quote(text)
			return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
		}
	}
	return text
}

// printableLines makes each line of a text printable, and leaves its tabs.
func printableLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		for i, part := range strings.Split(strings.TrimRight(line, "\r\n"), "\t") {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(printable(part))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// table is rows of cells in columns. The first row is the head.
type table [][]string

func (t *table) add(cells ...string) { *t = append(*t, cells) }

// write writes the table, fitted to w.
func (t table) write(w io.Writer) error {
	_, err := io.WriteString(w, t.text(columns(w)))
	return err
}

// text is the table in lines of at most so many characters, 0 for any.
func (t table) text(limit int) string {
	shown := make(table, 0, len(t))
	for _, row := range t {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = printable(cell)
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
func (t table) stacked(limit int) string {
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
func (t table) widths(limit int, of func(string) int) []int {
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
func (t table) single() bool {
	return !slices.ContainsFunc(t, func(row []string) bool { return len(row) > 1 })
}

// clock is a time for a table: today's without the date; "" is unknown.
func clock(t, now time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case t.Local().Format(time.DateOnly) == now.Local().Format(time.DateOnly):
		return t.Local().Format(time.TimeOnly)
	}
	return t.Local().Format(time.DateTime)
}

// part is how much of something is in use.
func part(used, total int) string { return fmt.Sprintf("%d/%d", used, total) }

// sortedKeys are a map's keys in alphabetical order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// note tells something that is no error.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		fmt.Fprint(a.err, printableLines(fmt.Sprintf("muster: "+format, args...)))
	}
}

// tell notes what there may be to say.
func (a *app) tell(what string) {
	if what != "" {
		a.note("%s", what)
	}
}
