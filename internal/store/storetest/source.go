package storetest

import (
	"io"
	"sync"
)

// Source is a content that says how it was read, and to which something may happen meanwhile.
type Source struct {
	Body []byte
	At   int64        // when this byte was read,
	Then func() error // this happens, once; it may change Body, or fail the read

	mu    sync.Mutex // guards what follows, and Body
	next  int64
	again bool
}

// ReadAt implements io.ReaderAt.
func (s *Source) ReadAt(p []byte, off int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	if off < int64(len(s.Body)) {
		n = copy(p, s.Body[off:])
	}
	s.again = s.again || off != s.next
	s.next = off + int64(n)
	if then := s.Then; then != nil && s.next > s.At {
		s.Then = nil
		if err := then(); err != nil {
			return 0, err
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Read says how far it was read, and whether each byte until there was read exactly once.
func (s *Source) Read() (at int64, once bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next, !s.again
}
