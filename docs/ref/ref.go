// Package ref holds the reference pages that are written from the sources, for
// programs that show parts of them.
package ref

import (
	_ "embed"
	"strings"
)

//go:embed codes.md
var codes string

// About says of each code of a problem what it is for, in the words of codes.md.
func About() map[string]string {
	about := map[string]string{}
	for line := range strings.Lines(codes) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		code, ok := strings.CutPrefix(cells[0], "| `")
		if len(cells) != 3 || !ok {
			continue
		}
		says := strings.TrimSuffix(cells[2], " |")
		about[strings.TrimSuffix(code, "`")] = strings.ReplaceAll(says, "<br>", "; ")
	}
	return about
}
