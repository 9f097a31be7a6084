package data

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
)

// pileBytes are about what a pile holds in memory.
const pileBytes = 16 << 20

// pile sorts notes by their paths, and keeps those of a path in the order in which they came. What it does not hold lies
// in files that have no names, so that nothing is left of them however the program ends.
type pile struct {
	dir  string // of the files
	most int

	held  []note
	bytes int
	runs  []*os.File
}

func (p *pile) add(n note) error {
	p.held = append(p.held, n)
	p.bytes += weight(n)
	if p.bytes < p.most {
		return nil
	}
	return p.spill()
}

// weight is about what a note takes of memory.
func weight(n note) int {
	bytes := 100 + len(n.Path)
	if n.Record != nil {
		bytes += 300 + len(n.Path) + 30*len(n.Record.Parts)
	}
	return bytes
}

func (p *pile) close() {
	for _, f := range p.runs {
		f.Close()
	}
}

func (p *pile) sort() {
	slices.SortStableFunc(p.held, func(a, b note) int { return strings.Compare(a.Path, b.Path) })
}

// spill writes what is held to a file.
func (p *pile) spill() error {
	p.sort()
	f, err := nameless(p.dir)
	if err != nil {
		return err
	}
	p.runs = append(p.runs, f)
	out := bufio.NewWriterSize(f, 64<<10)
	lines := json.NewEncoder(out)
	for _, n := range p.held {
		if err := lines.Encode(n); err != nil {
			return err
		}
	}
	p.held, p.bytes = p.held[:0], 0
	clear(p.held[:cap(p.held)])
	return out.Flush()
}

// sorted yields the notes.
func (p *pile) sorted() iter.Seq2[note, error] {
	p.sort()
	all := func(yield func(note, error) bool) {
		for _, n := range p.held {
			if !yield(n, nil) {
				return
			}
		}
	}
	runs := make([]iter.Seq2[note, error], 0, len(p.runs)+1)
	for _, f := range p.runs {
		runs = append(runs, written(f))
	}
	return together(append(runs, all))
}

// written yields what was spilt to a file.
func written(f *os.File) iter.Seq2[note, error] {
	return func(yield func(note, error) bool) {
		lines := bufio.NewReaderSize(io.NewSectionReader(f, 0, 1<<62), 32<<10)
		for {
			line, err := lines.ReadBytes('\n')
			if err == io.EOF && len(line) == 0 {
				return
			}
			n, ok := readNote(bytes.TrimSpace(line))
			if err == nil && !ok {
				err = errors.New("a note is not as it was written")
			}
			if !yield(n, err) || err != nil {
				return
			}
		}
	}
}
