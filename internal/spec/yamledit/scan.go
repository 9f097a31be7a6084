package yamledit

import (
	"bytes"
	"strings"

	yaml "go.yaml.in/yaml/v4"
)

// scanner goes through a text once and finds its comments, and the ends of
// quoted texts, block texts and brackets. The parser says where these begin, so
// that nothing has to be guessed.
type scanner struct {
	*Layout
	special []start
	at      int
	// open are the collections whose closing bracket is looked for.
	open []start
}

// run is false if the text is not as the parser sees it.
func (s *scanner) run() bool {
	for s.at < len(s.data) {
		if len(s.special) > 0 && s.special[0].at <= s.at {
			next := s.special[0]
			s.special = s.special[1:]
			if next.at < s.at || !s.begin(next) {
				return false
			}
			continue
		}
		s.step()
	}
	return len(s.open) == 0 && len(s.special) == 0
}

// step passes a character outside of quotes, or a comment.
func (s *scanner) step() {
	switch b := s.data[s.at]; {
	case b == '#' && s.afterBlank():
		s.comment()
		return
	case (b == ']' || b == '}') && len(s.open) > 0:
		last := s.open[len(s.open)-1]
		s.open = s.open[:len(s.open)-1]
		s.close(last, s.at+1)
	}
	s.at++
}

func (s *scanner) afterBlank() bool {
	if s.at == 0 || s.data[s.at-1] == ' ' || s.data[s.at-1] == '\t' {
		return true
	}
	return s.lineStart(s.lineOf(s.at)) == s.at
}

func (s *scanner) comment() {
	start := s.at
	for s.at < len(s.data) && breakAt(s.data[s.at:]) == 0 {
		s.at++
	}
	s.comments = append(s.comments, span{start, start + len(bytes.TrimRight(s.data[start:s.at], " \t"))})
}

// close notes where a value ends.
func (s *scanner) close(from start, end int) {
	s.ends[from.node] = end
	if len(s.open) == 0 {
		s.solid = append(s.solid, span{from.at, end})
	}
}

// begin passes a quoted or block text, or an opening bracket.
func (s *scanner) begin(from start) bool {
	s.properties()
	if s.at == len(s.data) {
		return false
	}
	switch b := s.data[s.at]; {
	case from.node.Kind != yaml.ScalarNode:
		if b != '[' && b != '{' {
			// The pair of [key: value] has no brackets of its own.
			return true
		}
		s.open = append(s.open, from)
		s.at++
		return true
	case b == '"' || b == '\'':
		end := quoteEnd(s.data, s.at)
		s.at = end
		s.close(from, end)
		return end > 0
	case b == '|' || b == '>':
		return s.block(from)
	default:
		return false
	}
}

// properties passes an anchor and a tag before a value.
func (s *scanner) properties() {
	for s.at < len(s.data) && (s.data[s.at] == '&' || s.data[s.at] == '!') {
		for s.at < len(s.data) && bytes.IndexByte([]byte(" \t\r\n"), s.data[s.at]) < 0 {
			s.at++
		}
		for s.at < len(s.data) && bytes.IndexByte([]byte(" \t\r\n"), s.data[s.at]) >= 0 {
			s.at++
		}
	}
}

// quoteEnd is the end of the quoted text that begins at a byte; 0 is none.
func quoteEnd(data []byte, at int) int {
	quote := data[at]
	for i := at + 1; i < len(data); i++ {
		switch {
		case data[i] == '\\' && quote == '"':
			i++
		case data[i] == quote && quote == '\'' && i+1 < len(data) && data[i+1] == quote:
			i++
		case data[i] == quote:
			return i + 1
		}
	}
	return 0
}

// block passes a text that begins with | or >. Its lines are those that are
// indented as its first one is. An indentation that is given as a number is
// left alone.
func (s *scanner) block(from start) bool {
	line := s.lineOf(s.at)
	for s.at++; s.at < len(s.data) && breakAt(s.data[s.at:]) == 0; s.at++ {
		if b := s.data[s.at]; b >= '0' && b <= '9' {
			return false
		} else if b == '#' {
			s.comment()
			break
		}
	}
	end, depth := s.lineStart(line+1), 0
	hollow := strings.TrimRight(from.node.Value, "\n") == ""
	for line++; line <= len(s.starts) && !hollow; line++ {
		blanks, rest := s.leading(line)
		if rest == 0 {
			continue
		}
		if depth == 0 {
			depth = blanks
		}
		if blanks < depth || depth == 0 {
			break
		}
		end = s.lineStart(line + 1)
	}
	s.at = end
	s.close(from, end)
	return true
}

// leading counts the blanks at the start of a line, and what is behind them.
func (s *scanner) leading(line int) (blanks, rest int) {
	text := bytes.TrimRight(s.data[s.lineStart(line):s.lineStart(line+1)], "\r\n")
	rest = len(bytes.TrimLeft(text, " "))
	return len(text) - rest, rest
}
