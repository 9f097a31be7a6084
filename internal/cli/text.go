package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/muster-hpc/muster/internal/say/page"
)

// writeJSON writes the answer as JSON.
func (a *app) writeJSON(v any) error {
	out := json.NewEncoder(a.out)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(v)
}

// answer writes the answer of a command: as JSON if that is asked for, and else as text.
func (a *app) answer(v any, text func() error) error {
	if a.output == "json" {
		return a.writeJSON(v)
	}
	return text()
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
		fmt.Fprint(a.err, page.PrintableLines(fmt.Sprintf("muster: "+format, args...)))
	}
}

// tell is note for a text that may be empty.
func (a *app) tell(what string) {
	if what != "" {
		a.note("%s", what)
	}
}
