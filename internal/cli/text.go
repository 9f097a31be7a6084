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

// table is rows of cells in columns. The first row is the head.
type table [][]string

func (t *table) add(cells ...string) { *t = append(*t, cells) }

func (t table) write(w io.Writer) error {
	var widths []int
	for _, row := range t {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(printable(cell)))
		}
	}
	var b strings.Builder
	for _, row := range t {
		line := ""
		for i, cell := range row {
			line += fmt.Sprintf("%-*s  ", widths[i], printable(cell))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// byteSize is a number of bytes in binary units.
func byteSize(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n)/(1<<10), 0
	const units = "KMGTPE"
	for ; value >= 1024 && unit < len(units)-1; unit++ {
		value /= 1024
	}
	if value < 9.95 {
		return fmt.Sprintf("%.1f %ciB", value, units[unit])
	}
	return fmt.Sprintf("%.0f %ciB", value, units[unit])
}

// span is a time span as people say it, to two figures or so.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0 s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours())/24)
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
		fmt.Fprintf(a.err, "muster: "+format+"\n", args...)
	}
}

// tell notes what there may be to say.
func (a *app) tell(what string) {
	if what != "" {
		a.note("%s", what)
	}
}
