package manifest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"

	"github.com/muster-hpc/muster/internal/say/malformed"
)

// mostLine is how long a line may be. The 10,000 parts of the largest object take a seventh of it.
const mostLine = 1 << 20

// Reader reads a manifest, and trusts nothing of it.
type Reader struct {
	from  io.Reader
	lines *bufio.Scanner
	order order
	n     int
	bytes int64 // of the files so far
	err   error
}

// NewReader reads a manifest. What it returned is worth nothing until io.EOF: only then was all of it there.
func NewReader(r io.Reader) *Reader { return &Reader{from: r} }

// Read returns the next record, and io.EOF after the last one. After an error it returns the same again.
func (r *Reader) Read() (Record, error) {
	if r.err != nil {
		return Record{}, r.err
	}
	record, err := r.next()
	if err != nil && err != io.EOF {
		err = fmt.Errorf("read manifest, line %d: %w", r.n, err)
	}
	r.err = err
	return record, err
}

// All yields the records; after an error it yields nothing more.
func (r *Reader) All() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		for {
			record, err := r.Read()
			if err == io.EOF || !yield(record, err) || err != nil {
				return
			}
		}
	}
}

func (r *Reader) next() (Record, error) {
	r.n++
	if r.lines == nil {
		unzipped, err := gzip.NewReader(r.from)
		if err != nil {
			return Record{}, cutOff(err)
		}
		r.lines = bufio.NewScanner(unzipped)
		r.lines.Buffer(make([]byte, 64<<10), mostLine)
	}
	if !r.lines.Scan() {
		if err := r.lines.Err(); err != nil {
			return Record{}, cutOff(err)
		}
		return Record{}, io.EOF
	}
	record, err := parse(r.lines.Bytes())
	if err == nil {
		err = record.check()
	}
	if err == nil {
		err = r.order.next(record.Path)
	}
	if err == nil {
		err = r.add(record.SizeBytes)
	}
	if err != nil {
		return Record{}, err
	}
	return record, nil
}

// add sums the sizes up, so that nobody who does it again meets a sum below zero.
func (r *Reader) add(size int64) error {
	if r.bytes += size; r.bytes < 0 {
		return errors.New("the sizes add up to more bytes than can be counted")
	}
	return nil
}

// cutOff keeps io.EOF for the end of what is whole.
func cutOff(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// parse reads a line: quickly if it is one as the writer makes it, else as any JSON.
func parse(line []byte) (Record, error) {
	if !utf8.Valid(line) {
		return Record{}, errors.New("the line is no UTF-8")
	}
	if r, ok := parseOurs(line); ok {
		return r, nil
	}
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return Record{}, malformed.JSON(err)
	}
	return r, nil
}
