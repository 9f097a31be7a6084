package spec

import (
	"bytes"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/diag"
)

// maxSource is the longest part of a line that a diagnostic carries.
const maxSource = 4096

// lines finds lines of a file's text.
type lines struct {
	name string
	data []byte
	// starts are the byte offsets of the lines, made when first needed.
	starts []int
}

// at is a place in the file; line and column count from 1.
func (t *lines) at(line, column int) diag.Place {
	return diag.Place{File: t.name, Line: line, Column: column, Source: t.source(line, column)}
}

// atByte is the place of a byte.
func (t *lines) atByte(offset int) diag.Place {
	t.index()
	line := 1
	for line < len(t.starts) && t.starts[line] <= offset {
		line++
	}
	start := t.starts[line-1]
	return t.at(line, utf8.RuneCount(t.data[start:offset])+1)
}

// source is a line's text, cut if it is long, and empty if the column would
// lie behind the cut.
func (t *lines) source(line, column int) string {
	t.index()
	if line < 1 || line > len(t.starts) || column > maxSource {
		return ""
	}
	end := len(t.data)
	if line < len(t.starts) {
		end = t.starts[line]
	}
	text := bytes.TrimRight(t.data[t.starts[line-1]:end], "\r\n")
	if len(text) <= maxSource {
		return string(text)
	}
	cut := maxSource
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return string(text[:cut])
}

// index finds the starts of lines. Breaks are those of YAML 1.1, which the
// parser counts: LF, CR, CR LF, NEL, LS and PS.
func (t *lines) index() {
	if t.starts != nil {
		return
	}
	t.starts = []int{0}
	for i := 0; i < len(t.data); i++ {
		if n := breakAt(t.data[i:]); n > 0 {
			t.starts = append(t.starts, i+n)
			i += n - 1
		}
	}
}

// breakAt is the length of the line break that data begins with.
func breakAt(data []byte) int {
	switch data[0] {
	case '\n':
		return 1
	case '\r':
		if len(data) > 1 && data[1] == '\n' {
			return 2
		}
		return 1
	case 0xc2:
		if len(data) > 1 && data[1] == 0x85 {
			return 2
		}
	case 0xe2:
		if len(data) > 2 && data[1] == 0x80 && (data[2] == 0xa8 || data[2] == 0xa9) {
			return 3
		}
	}
	return 0
}
