package shell

import (
	"fmt"
	"strings"
)

// Word is a word of a line.
type Word struct {
	Text string
	// Column is how many characters stand before it.
	Column int
}

// SplitError says what of a line is more than words.
type SplitError struct {
	// Column is how many characters stand before it.
	Column int
	// Text is a line for people.
	Text string
}

func (e *SplitError) Error() string { return e.Text }

// Split are the words of a line as a POSIX shell reads them, but for what it expands: $HOME,
// * and ~ stay as they are. A # that begins a word begins a comment. What a shell would take
// for more than words, such as a pipe or a quote that nothing ends, is a *SplitError; the
// words before it are there.
func Split(line string) ([]Word, error) {
	s := &splitter{}
	for _, r := range line {
		if !s.take(r) {
			break
		}
		s.column++
	}
	switch {
	case s.odd != nil:
		return s.words, s.odd
	case s.quote != 0:
		return s.words, &SplitError{s.opened, fmt.Sprintf("nothing ends what this %c begins", s.quote)}
	case s.escaped:
		return s.words, &SplitError{s.column - 1, "nothing stands behind this backslash"}
	}
	s.end()
	return s.words, nil
}

// operators part commands, or lead their input and output elsewhere.
const operators = ";&|<>()"

// kept are the characters before which a backslash in double quotes means something (POSIX
// 2.2.3); before others it is one.
const kept = "$`\"\\"

type splitter struct {
	words []Word
	now   strings.Builder
	// begun says that there is a word, be it empty; it began at start.
	begun         bool
	start, column int
	// quote is the one that is open since opened, or 0.
	quote   rune
	opened  int
	escaped bool
	odd     *SplitError
}

// take reads one character. It is false where the words end.
func (s *splitter) take(r rune) bool {
	switch {
	case s.escaped:
		s.escape(r)
	case r == '\\' && s.quote != '\'':
		s.begin()
		s.escaped = true
	case s.quote != 0 && r == s.quote:
		s.quote = 0
	case s.quote != 0:
		s.now.WriteRune(r)
	default:
		return s.plain(r)
	}
	return true
}

// escape reads the character behind a backslash.
func (s *splitter) escape(r rune) {
	if s.quote == '"' && !strings.ContainsRune(kept, r) {
		s.now.WriteByte('\\')
	}
	s.now.WriteRune(r)
	s.escaped = false
}

// plain reads a character that nothing quotes.
func (s *splitter) plain(r rune) bool {
	switch {
	case r == ' ' || r == '\t' || r == '\r' || r == '\n':
		s.end()
	case r == '#' && !s.begun:
		return false
	case strings.ContainsRune(operators, r):
		s.odd = &SplitError{s.column, fmt.Sprintf("a shell takes this %c for more than a character", r)}
		return false
	case r == '"' || r == '\'':
		s.begin()
		s.quote, s.opened = r, s.column
	default:
		s.begin()
		s.now.WriteRune(r)
	}
	return true
}

func (s *splitter) begin() {
	if !s.begun {
		s.begun, s.start = true, s.column
	}
}

func (s *splitter) end() {
	if s.begun {
		s.words = append(s.words, Word{s.now.String(), s.start})
	}
	s.now.Reset()
	s.begun = false
}
