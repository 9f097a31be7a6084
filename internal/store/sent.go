package store

import "io"

// sender reads a piece to be sent, and says how much of it was.
func (u Upload) sender(p piece) io.ReadSeeker {
	s := io.NewSectionReader(p.content, p.from, p.size)
	if u.Sent == nil {
		return s
	}
	return &told{SectionReader: s, sent: u.Sent}
}

// told is a body that is read to be sent. When it is sent again, it goes back.
type told struct {
	*io.SectionReader
	sent func(int64)
	at   int64 // where the reader is
	said int64 // how much was told
}

func (t *told) Read(p []byte) (int, error) {
	n, err := t.SectionReader.Read(p)
	t.at += int64(n)
	if n > 0 {
		t.sent(t.at - t.said)
		t.said = t.at
	}
	return n, err
}

func (t *told) Seek(offset int64, whence int) (int64, error) {
	at, err := t.SectionReader.Seek(offset, whence)
	t.at = at
	return at, err
}

// WriteTo keeps the section's own from going around Read.
func (t *told) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{t})
}
