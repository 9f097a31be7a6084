// Package tail has the ends of files that programs write: for errors, where a program says what went wrong
// with it, and for those who read on where they were.
package tail

import (
	"io"
	"os"
	"strings"
)

// most is how much of a file is read for its last lines, in bytes.
const most = 16 << 10

// File is a file's last lines, of what was written after a place.
func File(path string, from int64, lines int) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil {
		from = max(from, info.Size()-most)
	}
	data, err := io.ReadAll(io.NewSectionReader(f, from, most))
	return Lines(string(data), lines), err
}

// Lines are a text's last lines, without empty ones around it; none if it has none.
func Lines(text string, lines int) []string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, "?"))
	if text == "" {
		return nil
	}
	all := strings.Split(text, "\n")
	return all[max(0, len(all)-lines):]
}
