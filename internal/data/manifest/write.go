package manifest

import (
	"fmt"
	"io"
	"strconv"

	"github.com/klauspost/compress/gzip"
)

// Writer writes a manifest: a line of JSON for each record, compressed.
type Writer struct {
	out   *gzip.Writer
	order order
	line  []byte
	err   error
}

// NewWriter writes to w, which has all when the writer is closed.
func NewWriter(w io.Writer) *Writer {
	out, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is one
	}
	return &Writer{out: out}
}

// Write adds a record, whose path comes after that of the one before.
func (w *Writer) Write(r Record) error {
	if w.err != nil {
		return w.err
	}
	err := r.check()
	if err == nil {
		err = w.order.next(r.Path)
	}
	if err != nil {
		return fmt.Errorf("write record %q: %w", r.Path, err)
	}
	w.line = r.append(w.line[:0])
	if _, w.err = w.out.Write(w.line); w.err != nil {
		w.err = fmt.Errorf("write manifest: %w", w.err)
	}
	return w.err
}

// Close ends the manifest. It is not one without it.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	if err := w.out.Close(); err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	return nil
}

// append adds a record's line, with its fields in the order in which the reader looks for them.
func (r *Record) append(b []byte) []byte {
	b = quote(append(b, `{"path":`...), r.Path)
	b = strconv.AppendInt(append(b, `,"size":`...), r.SizeBytes, 10)
	b = strconv.AppendInt(append(b, `,"mtime":`...), r.ModTime, 10)
	b = quote(append(b, `,"sha256":`...), r.SHA256)
	b = quote(append(b, `,"crc64nvme":`...), r.CRC64NVME)
	b = quote(append(b, `,"version":`...), r.Version)
	b = strconv.AppendUint(append(b, `,"mode":`...), uint64(r.Mode), 10)
	if len(r.Parts) > 0 {
		b = strconv.AppendInt(append(b, `,"part_bytes":`...), r.PartBytes, 10)
		b = append(b, `,"parts":[`...)
		for i, part := range r.Parts {
			if i > 0 {
				b = append(b, ',')
			}
			b = quote(b, part)
		}
		b = append(b, ']')
	}
	return append(b, '}', '\n')
}

// quote adds a string of JSON.
func quote(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		from = i + 1
		if c < ' ' {
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			continue
		}
		b = append(b, '\\', c)
	}
	return append(append(b, s[from:]...), '"')
}
