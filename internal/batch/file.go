package batch

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/diag"
)

// file is a script's text with its lines.
type file struct {
	name string
	data []byte
	// starts are the offsets of lines.
	starts []int
	// last is the place that was asked for last, at an offset: the next one is often
	// in the same line, and lines may be very long.
	last   diag.Place
	offset int
}

func newFile(name string, data []byte) *file {
	f := &file{name: name, data: data, starts: []int{0}}
	for i, b := range data {
		if b == '\n' {
			f.starts = append(f.starts, i+1)
		}
	}
	return f
}

// line is the text of a line, which is counted from 1, without its end.
func (f *file) line(n int) []byte {
	start, end := f.starts[n-1], len(f.data)
	if n < len(f.starts) {
		end = f.starts[n] - 1
	}
	return f.data[start:end]
}

// place is where a byte of the text stands.
func (f *file) place(offset int) diag.Place {
	offset = min(max(offset, 0), len(f.data))
	n, found := slices.BinarySearch(f.starts, offset)
	if found {
		n++
	}
	end := min(offset, f.starts[n-1]+len(f.line(n)))
	if f.last.Line == n && end >= f.offset {
		f.last.Column += utf8.RuneCount(f.data[f.offset:end])
	} else {
		source := f.last.Source
		if f.last.Line != n {
			source = text(f.line(n))
		}
		f.last = diag.Place{File: f.name, Line: n, Column: utf8.RuneCount(f.data[f.starts[n-1]:end]) + 1, Source: source}
	}
	f.offset = end
	return f.last
}

// text is a line of a file that may be anything.
func text(line []byte) string {
	return strings.ToValidUTF8(string(bytes.TrimRight(line, "\r")), "\uFFFD")
}
