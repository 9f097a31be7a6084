package ec2xml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// bufferBytes is read at once. No tag and no text that we keep is longer.
	bufferBytes = 64 << 10
	// deepest is how many elements may lie in each other.
	deepest = 64
)

type kind int

const (
	start kind = iota
	end
)

// endOfInterfaces ends what leap steps over.
var endOfInterfaces = []byte("</networkInterfaceSet>")

// scanner reads XML as EC2 writes it: elements and texts. Attributes are only
// stepped over. There are no document types.
type scanner struct {
	r        io.Reader
	buf      []byte
	pos, end int   // buf[pos:end] is read and not used yet
	read     int64 // bytes so far
	err      error // of the reader

	// name is the last tag's, valid until the next call. empty says that the element
	// has no content and no end tag.
	name  []byte
	empty bool
	// plain is the last text.
	plain []byte
	// open are the names of the elements around, each after a slash.
	open  []byte
	depth int
}

// fill reads more bytes. It is an error if none come.
func (s *scanner) fill() error {
	if s.pos > 0 {
		copy(s.buf, s.buf[s.pos:s.end])
		s.pos, s.end = 0, s.end-s.pos
	}
	if s.end == len(s.buf) {
		return errors.New("a tag or text is too long")
	}
	for range 100 {
		if s.err != nil {
			return s.err
		}
		var n int
		n, s.err = s.r.Read(s.buf[s.end:])
		s.end += n
		s.read += int64(n)
		if n > 0 {
			return nil
		}
	}
	return io.ErrNoProgress
}

// until returns what comes before a byte, and steps behind that byte.
func (s *scanner) until(c byte) ([]byte, error) {
	looked := 0
	for {
		if i := bytes.IndexByte(s.buf[s.pos+looked:s.end], c); i >= 0 {
			text := s.buf[s.pos : s.pos+looked+i]
			s.pos += looked + i + 1
			return text, nil
		}
		looked = s.end - s.pos
		if err := s.fill(); err != nil {
			return nil, early(err)
		}
	}
}

// early makes the end of the answer an error where more has to come.
func early(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// next steps to the next tag. Only white space may come before it.
func (s *scanner) next() (kind, error) {
	for {
		text, err := s.until('<')
		if err != nil {
			return 0, err
		}
		if len(bytes.TrimSpace(text)) > 0 {
			return 0, fmt.Errorf("text %q where an element should be", shorten(text))
		}
		tag, err := s.tag()
		if err != nil {
			return 0, err
		}
		if tag[0] != '?' {
			return s.classify(tag)
		}
	}
}

// tag reads the rest of a tag up to its bracket. A bracket in quotes is text.
func (s *scanner) tag() ([]byte, error) {
	looked := 0
	var quote byte
	for {
		for i, c := range s.buf[s.pos+looked : s.end] {
			switch {
			case quote != 0 && c == quote:
				quote = 0
			case quote == 0 && (c == '"' || c == '\''):
				quote = c
			case quote == 0 && c == '>':
				tag := s.buf[s.pos : s.pos+looked+i]
				s.pos += looked + i + 1
				if len(tag) == 0 || tag[0] == '!' {
					return nil, fmt.Errorf("a tag <%s> that EC2 does not write", shorten(tag))
				}
				return tag, nil
			}
		}
		looked = s.end - s.pos
		if err := s.fill(); err != nil {
			return nil, early(err)
		}
	}
}

func (s *scanner) classify(tag []byte) (kind, error) {
	what := start
	s.empty = false
	switch {
	case tag[0] == '/':
		what, tag = end, tag[1:]
	case tag[len(tag)-1] == '/':
		s.empty, tag = true, tag[:len(tag)-1]
	}
	if i := bytes.IndexAny(tag, " \t\r\n"); i >= 0 {
		tag = tag[:i]
	}
	if len(tag) == 0 || bytes.ContainsAny(tag, "</&=\"'") {
		return 0, fmt.Errorf("a tag with the name %q", shorten(tag))
	}
	s.name = tag
	return what, nil
}

// enter notes that the element of the last tag has begun.
func (s *scanner) enter() error {
	if s.depth++; s.depth > deepest {
		return fmt.Errorf("more than %d elements in each other", deepest)
	}
	s.open = append(append(s.open, '/'), s.name...)
	return nil
}

// leave notes that the last tag ends the element that was entered last.
func (s *scanner) leave() error {
	i := bytes.LastIndexByte(s.open, '/')
	if i < 0 || !bytes.Equal(s.open[i+1:], s.name) {
		return fmt.Errorf("</%s> ends %s", shorten(s.name), shorten(s.open))
	}
	s.open = s.open[:i]
	s.depth--
	return nil
}

// children calls visit for each child of the element that has just begun. visit
// reads the child to its end.
func (s *scanner) children(visit func(name string) error) error {
	if s.empty {
		return nil
	}
	if err := s.enter(); err != nil {
		return err
	}
	for {
		what, err := s.next()
		if err != nil {
			return err
		}
		if what == end {
			return s.leave()
		}
		if err := visit(string(s.name)); err != nil {
			return err
		}
	}
}

// skip steps over the element that has just begun.
func (s *scanner) skip() error {
	if s.empty {
		return nil
	}
	outer := s.depth
	if err := s.enter(); err != nil {
		return err
	}
	for s.depth > outer {
		if err := s.past('<'); err != nil {
			return err
		}
		tag, err := s.tag()
		if err != nil {
			return err
		}
		what, err := s.classify(tag)
		switch {
		case err != nil:
			return err
		case what == end:
			err = s.leave()
		case !s.empty:
			err = s.enter()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// past steps behind the next byte c. What comes before it may be of any length.
func (s *scanner) past(c byte) error {
	for {
		if i := bytes.IndexByte(s.buf[s.pos:s.end], c); i >= 0 {
			s.pos += i + 1
			return nil
		}
		s.pos = s.end
		if err := s.fill(); err != nil {
			return early(err)
		}
	}
}

// leap steps over the element that has just begun without a look into it,
// up to its end tag, which cannot stand in a text.
func (s *scanner) leap(endTag []byte) error {
	if s.empty {
		return nil
	}
	for {
		if i := bytes.Index(s.buf[s.pos:s.end], endTag); i >= 0 {
			s.pos += i + len(endTag)
			return nil
		}
		s.pos = max(s.pos, s.end-len(endTag)+1)
		if err := s.fill(); err != nil {
			return early(err)
		}
	}
}

// text reads an element that has only text. The result is valid until the next call.
func (s *scanner) text() ([]byte, error) {
	if s.empty {
		return nil, nil
	}
	if err := s.enter(); err != nil {
		return nil, err
	}
	text, err := s.until('<')
	if err != nil {
		return nil, err
	}
	var known bool
	if s.plain, known = unescape(s.plain[:0], text); !known { // a copy: the end tag moves the buffer
		return nil, fmt.Errorf("text %q has an entity that EC2 does not write", shorten(text))
	}
	tag, err := s.tag()
	if err != nil {
		return nil, err
	}
	what, err := s.classify(tag)
	if err != nil {
		return nil, err
	}
	if what != end {
		return nil, fmt.Errorf("an element <%s> where a text should be", shorten(s.name))
	}
	return s.plain, s.leave()
}

// nothingMore holds that only white space follows.
func (s *scanner) nothingMore() error {
	for {
		if rest := bytes.TrimSpace(s.buf[s.pos:s.end]); len(rest) > 0 {
			return fmt.Errorf("%q behind the end", shorten(rest))
		}
		s.pos = s.end
		if err := s.fill(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// unescape appends a text with its entities resolved. It is false if one is unknown.
func unescape(out, text []byte) ([]byte, bool) {
	for {
		i := bytes.IndexByte(text, '&')
		if i < 0 {
			return append(out, text...), true
		}
		out = append(out, text[:i]...)
		name, rest, ok := bytes.Cut(text[i+1:], []byte(";"))
		r := entity(string(name))
		if !ok || r == 0 {
			return out, false
		}
		out = utf8.AppendRune(out, r)
		text = rest
	}
}

func entity(name string) rune {
	switch name {
	case "amp":
		return '&'
	case "lt":
		return '<'
	case "gt":
		return '>'
	case "quot":
		return '"'
	case "apos":
		return '\''
	}
	digits, ok := strings.CutPrefix(name, "#")
	if !ok {
		return 0
	}
	base := 10
	if hex, ok := strings.CutPrefix(digits, "x"); ok {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n > utf8.MaxRune {
		return 0
	}
	return rune(n)
}

// shorten cuts bytes from outside to what fits in a message.
func shorten(b []byte) string {
	const most = 60
	if len(b) > most {
		return strings.ToValidUTF8(string(b[:most]), "") + "..."
	}
	return string(b)
}
