package spec

import (
	"bytes"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec/yamledit"
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

// index finds the starts of lines.
func (t *lines) index() {
	if t.starts != nil {
		return
	}
	t.starts = yamledit.LineStarts(t.data)
}
